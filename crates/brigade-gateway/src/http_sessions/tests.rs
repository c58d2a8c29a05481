use std::future::poll_fn;

use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

use super::*;

fn from_client(message: Value) -> ClientJsonRpcMessage {
    serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(message).unwrap()
}

fn from_server(message: Value) -> ServerJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

fn list(id: u64, token: Option<&str>) -> ClientJsonRpcMessage {
    let meta = token.map_or_else(|| json!({}), |token| json!({"progressToken": token}));
    from_client(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta}}))
}

fn answer(id: u64) -> ServerJsonRpcMessage {
    from_server(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
}

fn progress(token: &str) -> ServerJsonRpcMessage {
    let params = json!({"progressToken": token, "progress": 1.0});
    from_server(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
}

fn changed() -> ServerJsonRpcMessage {
    from_server(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// Reads the events that a stream has now. Returns their ids and methods, and whether the stream has ended.
async fn read(events: impl Stream<Item = ServerSseMessage>) -> (Vec<String>, bool) {
    let mut events = Box::pin(events);
    read_on(&mut events).await
}

async fn read_on(events: &mut Pin<Box<impl Stream<Item = ServerSseMessage>>>) -> (Vec<String>, bool) {
    let mut read = Vec::new();
    loop {
        let next = poll_fn(|context| match events.as_mut().poll_next(context) {
            Poll::Pending => Poll::Ready(None),
            Poll::Ready(event) => Poll::Ready(Some(event)),
        });
        match next.await {
            None => return (read, false),
            Some(None) => return (read, true),
            Some(Some(event)) => {
                let message = event.message.map(|message| serde_json::to_value(&*message).unwrap());
                let message = message.unwrap_or_default();
                let what = message["method"].as_str().map(str::to_owned);
                let what = what.unwrap_or_else(|| message["id"].to_string());
                read.push(format!("{} {what}", event.event_id.unwrap_or_default()));
            }
        }
    }
}

async fn begun() -> (HttpSessions, SessionId, ServerSide) {
    let sessions = HttpSessions::default();
    let (id, side) = sessions.create_session().await.unwrap();
    (sessions, id, side)
}

#[test]
fn an_answer_ends_only_the_stream_of_its_request() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        let one = sessions.create_stream(&id, list(1, Some("a"))).await.unwrap();
        let two = sessions.create_stream(&id, list(2, None)).await.unwrap();
        for _ in 0..2 {
            assert!(side.receive().await.is_some());
        }
        for message in [progress("a"), answer(1), answer(9)] {
            side.send(message).await.unwrap();
        }
        let expect = ["0/0 null", "1/0 notifications/progress", "2/0 1"];
        assert_eq!(read(one).await, (expect.map(str::to_owned).to_vec(), true));
        assert_eq!(read(two).await, (vec!["0/1 null".to_owned()], false));
    });
}

#[test]
fn unread_events_go_to_the_next_stream_once() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        side.send(changed()).await.unwrap();
        let mut first = Box::pin(sessions.create_standalone_stream(&id).await.unwrap());
        let told = "notifications/tools/list_changed";
        assert_eq!(read_on(&mut first).await, (vec![format!("1 {told}")], false));
        let spare = sessions.create_standalone_stream(&id).await.unwrap();
        side.send(changed()).await.unwrap();
        assert_eq!(read(spare).await, (vec![], false), "the first stream has it");
        assert_eq!(read_on(&mut first).await, (vec![format!("2 {told}")], false));
        drop(first);
        assert_eq!(read(sessions.create_standalone_stream(&id).await.unwrap()).await, (vec![], false));
        let again = sessions.resume(&id, "1".to_owned()).await.unwrap();
        assert_eq!(read(again).await, (vec![format!("2 {told}")], false), "only what came after");
        assert_eq!(sessions.resume(&id, "7".to_owned()).await.err(), Some(SessionError::NoEvent));
    });
}

#[test]
fn a_returning_client_gets_the_missed_events() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        drop(sessions.create_stream(&id, list(1, Some("a"))).await.unwrap());
        side.send(progress("a")).await.unwrap();
        let again = sessions.resume(&id, "0/0".to_owned()).await.unwrap();
        side.send(answer(1)).await.unwrap();
        let expect = vec!["1/0 notifications/progress".to_owned(), "2/0 1".to_owned()];
        assert_eq!(read(again).await, (expect, true));
        assert_eq!(sessions.resume(&id, "0/0".to_owned()).await.err(), Some(SessionError::NoEvent));
    });
}

#[test]
fn a_cancelled_request_gets_no_answer() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        let stream = sessions.create_stream(&id, list(1, None)).await.unwrap();
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        sessions.accept_message(&id, from_client(cancel)).await.unwrap();
        side.send(answer(1)).await.unwrap();
        assert_eq!(read(stream).await, (vec!["0/0 null".to_owned()], true));
    });
}

#[test]
fn the_end_of_a_session_ends_its_streams() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        let streams = (
            sessions.create_stream(&id, list(1, None)).await.unwrap(),
            sessions.create_standalone_stream(&id).await.unwrap(),
            sessions.create_standalone_stream(&id).await.unwrap(),
        );
        sessions.close_session(&id).await.unwrap();
        assert!(read(streams.0).await.1 && read(streams.1).await.1 && read(streams.2).await.1);
        assert!(side.receive().await.is_none() && side.send(answer(1)).await.is_err());
        assert!(!sessions.has(&id) && sessions.accept_message(&id, list(2, None)).await.is_err());
    });
}

#[test]
fn only_a_session_without_open_requests_is_idle() {
    run(async {
        let kept = StoredSession::new(Duration::ZERO);
        assert!(kept.next().await.is_none());
        assert!(kept.state().is_over);
        let kept = StoredSession::new(Duration::ZERO);
        let request = RequestId::Number(1);
        let open =
            OpenRequest { stream: 0, request: request.clone(), token: None, outlet: Outlet::default() };
        kept.state().open.push(open);
        let mut next = Box::pin(kept.next());
        let soon = poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_pending()));
        assert!(soon.await);
        drop(kept.state().close(&request));
        assert!(next.await.is_none());
    });
}

#[test]
fn a_client_that_sends_too_fast_waits() {
    run(async {
        let (sessions, id, mut side) = begun().await;
        for number in 0..MAX_WAITING_MESSAGES as u64 {
            sessions.accept_message(&id, list(number, None)).await.unwrap();
        }
        let mut next = Box::pin(sessions.accept_message(&id, list(99, None)));
        assert!(poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_pending())).await);
        assert!(side.receive().await.is_some());
        next.await.unwrap();
    });
}
