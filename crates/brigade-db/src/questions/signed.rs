//! The MACs of answers: only those that this host has signed count.

use brigade_core::Fingerprint;
use brigade_fs::WorkspaceKey;
use rusqlite::{Transaction, params};

use super::{Question, QuestionStatus};
use crate::error::StoreError;

/// The domain of the MACs of answers.
const MAC_DOMAIN: &str = "brigade.question.v1";

/// Returns what the MAC of an answer covers, and the MAC.
fn signed_content(transaction: &Transaction<'_>, id: &str) -> Result<(Vec<u8>, Option<String>), StoreError> {
    const SIGNED: [&str; 6] = ["id", "agent", "session", "asked", "answer", "answered_by"];
    let sql = format!("SELECT {}, host_mac FROM question WHERE id = ?1", SIGNED.join(", "));
    Ok(transaction.query_row(&sql, [id], |row| {
        let mut content = Fingerprint::builder(MAC_DOMAIN);
        for column in SIGNED {
            content = content.text(column, row.get::<_, Option<String>>(column)?.as_deref());
        }
        Ok((content.finish().to_hex().into_bytes(), row.get("host_mac")?))
    })?)
}

/// Signs the answer to a question.
pub(super) fn sign(transaction: &Transaction<'_>, key: &WorkspaceKey, id: &str) -> Result<(), StoreError> {
    let mac = key.sign(MAC_DOMAIN, &signed_content(transaction, id)?.0)?;
    transaction.execute("UPDATE question SET host_mac = ?2 WHERE id = ?1", params![id, mac])?;
    Ok(())
}

/// Returns a question without its answer if this host has not signed that. Then it still waits.
pub(super) fn signed(
    transaction: &Transaction<'_>,
    key: &WorkspaceKey,
    question: Question,
) -> Result<Question, StoreError> {
    if question.answer.is_none() {
        return Ok(question);
    }
    let (content, mac) = signed_content(transaction, &question.id)?;
    Ok(match key.verify(MAC_DOMAIN, &content, mac.as_deref()) {
        true => question,
        false => Question { status: QuestionStatus::Waiting, answer: None, answered_by: None, ..question },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_core::Timestamp;
    use brigade_fs::{DiskFs, WorkspaceKey};
    use brigade_redact::Redactor;

    use crate::questions::{Answer, AskedQuestion, Asker, Decision, QuestionForm, QuestionStatus};
    use crate::store::Stores;

    #[test]
    fn only_answers_of_this_host_count() {
        let (folder, redactor, now) =
            (tempfile::tempdir().unwrap(), Redactor::new(&[]), Timestamp::from_unix_micros(1));
        let fs = DiskFs::open(folder.path()).unwrap();
        let stores = Stores::new(Duration::from_secs(1), WorkspaceKey::temporary().into());
        let store = stores.writing(&fs).unwrap();
        let ask = |text: &str| {
            let question = AskedQuestion { question: text.to_owned(), ..AskedQuestion::default() };
            let form = QuestionForm { questions: vec![question], ..QuestionForm::default() };
            let asker = Asker { agent: "ada", session: "s", is_same: &|_| true, a_minute: None };
            store.ask(&asker, &form, &redactor, now).unwrap().id
        };
        let answer = |id: &str| {
            store
                .answer_question(id, &Answer::declined(Decision::Decline), "person", &redactor, now)
                .unwrap();
        };
        let other = ask("other?");
        answer(&other);
        for change in [
            "host_mac = NULL",
            "host_mac = 'x'",
            "host_mac = (SELECT host_mac FROM question WHERE id = 'other')",
            "answer = replace(answer, 'decline', 'accept')",
            "answered_by = 'elicitation'",
            "status = 'delivered', answered_by = 'somebody else'",
        ] {
            let id = ask(change);
            answer(&id);
            assert_eq!(store.question(&id).unwrap().status, QuestionStatus::Answered, "{change}");
            let sql = format!("UPDATE question SET {change} WHERE id = ?1").replace("'other')", "?2)");
            let values: &[&dyn rusqlite::ToSql] = if sql.contains("?2") { &[&id, &other] } else { &[&id] };
            store.change(|transaction| Ok(transaction.execute(&sql, values)?)).unwrap();
            let found = store.take_answer("ada", &id).unwrap();
            assert_eq!((found.status, found.answer), (QuestionStatus::Waiting, None), "{change}");
            answer(&id);
            assert_eq!(store.take_answer("ada", &id).unwrap().status, QuestionStatus::Delivered, "{change}");
        }
    }
}
