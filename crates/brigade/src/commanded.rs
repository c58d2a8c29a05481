//! The result of a run of a command that an agent named, as MCP has it.

use brigade_call::Receipt;
use brigade_core::Json;
use brigade_exec::log_text;
use brigade_profile::builtin::{COMMAND, definition};
use brigade_redact::Redactor;

use crate::acting::document;
use crate::room::{Room, rel};
use brigade_facts::Config;

/// What a line about the end of a command takes of a result, in bytes.
const ROOM: usize = 128;

/// Returns the result of a run, with its text masked: what the command printed and how it ended. `None` for a run of
/// another tool, and for one that did not start.
pub(crate) fn result_of(
    room: &Room,
    config: &Config,
    receipt: &Receipt,
    redactor: &Redactor,
) -> Option<Json> {
    if receipt.tool_id != COMMAND || receipt.process.is_none() {
        return None;
    }
    let read = |path: &Option<String>| {
        let file = room.fs.open(&rel(path.as_deref()?)).ok()?;
        log_text(&*file, redactor).ok()
    };
    let stdout = read(&receipt.stdout_log_path)?;
    let stderr = read(&receipt.stderr_log_path)?;
    let asked = receipt.args.get("max_output_bytes").and_then(|most| most.to_compact().parse().ok());
    let default = || {
        let schema = definition(COMMAND)?.input_schema();
        schema.get("properties")?.get("max_output_bytes")?.get("default")?.to_compact().parse().ok()
    };
    let asked: u64 = asked.or_else(default).unwrap_or(u64::MAX);
    let most = config.gateway(&room.host()).map_or(32 << 10, |gateway| gateway.max_result_bytes);
    let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(ROOM);
    let (out, err) = parts(&stdout, &stderr, usize::try_from(asked).unwrap_or(usize::MAX), most);
    let dropped = receipt.output.as_ref().map_or(0, |output| output.stdout.dropped + output.stderr.dropped);
    let is_cut = out.len() < stdout.len() || err.len() < stderr.len() || 0 < dropped;
    let ended = match (receipt.timed_out, receipt.exit_code) {
        (true, _) => format!(
            "[ended after {} s]",
            receipt.timeout.as_ref().map(ToString::to_string).unwrap_or_default()
        ),
        (false, Some(0)) => String::new(),
        (false, Some(code)) if code < 0 => format!("[ended by signal {}]", -code),
        (false, Some(code)) => format!("[exit code {code}]"),
        (false, None) => "[ended]".to_owned(),
    };
    let text: Vec<&str> = [out, err, &ended].into_iter().filter(|part| !part.is_empty()).collect();
    let structured = Json::object([
        ("stdout", Json::from(out)),
        ("stderr", Json::from(err)),
        ("exit_code", receipt.exit_code.map_or(Json::Null, Json::from)),
        ("timed_out", Json::from(receipt.timed_out)),
        ("truncated", Json::from(is_cut)),
    ]);
    Some(document(&text.join("\n"), Some(structured), None))
}

/// Cuts both streams, each to `each` bytes and together to `most`. At least a quarter is for what stands in standard
/// error, where programs say why they failed.
fn parts<'t>(stdout: &'t str, stderr: &'t str, each: usize, most: usize) -> (&'t str, &'t str) {
    let (out, err) = (stdout.len().min(each), stderr.len().min(each));
    let err = err.min((most / 4).max(most.saturating_sub(out)));
    let cut = |text: &'t str, most: usize| &text[..text.floor_char_boundary(most)];
    (cut(stdout, out.min(most - err)), cut(stderr, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_have_room() {
        assert_eq!(parts("abc", "def", 10, 100), ("abc", "def"));
        assert_eq!(parts("abcdef", "def", 2, 100), ("ab", "de"));
        let (out, err) = ("o".repeat(100), "e".repeat(100));
        let lengths = |each, most| {
            let (out, err) = parts(&out, &err, each, most);
            (out.len(), err.len())
        };
        assert_eq!(lengths(100, 100), (75, 25));
        assert_eq!(lengths(10, 100), (10, 10));
        assert_eq!(parts("a", &err, 100, 40).1.len(), 39);
        assert_eq!(parts("é", "", 1, 100), ("", ""));
        assert_eq!(parts("a", "b", 5, 0), ("", ""));
    }
}
