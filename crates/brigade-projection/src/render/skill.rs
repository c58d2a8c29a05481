//! Adjusts the front matter of a skill to the Agent Skills format, where this needs no guessing.

use super::{MAX_DESCRIPTION_LEN, cut};
use crate::front_matter::{self, Value};
use crate::harness::SKILL_FIELDS;
use crate::item::{Advice, AdviceCode, AdviceWeight};
use crate::text::{one_line, quoted};

/// The maximum length of a key in advice.
const MAX_KEY_LEN: usize = 40;

/// Returns whether a text is a valid name in the Agent Skills format.
fn is_skill_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Adjusts the front matter of a skill: sets the name to that of the directory, and cuts or quotes the description.
/// Adds advice about each change and each problem that remains.
pub(super) fn fit(body: String, folder: &str, advice: &mut Vec<Advice>) -> String {
    if !is_skill_name(folder) {
        let message = "the folder of a SKILL.md is the skill's name: 1 to 64 lower-case letters, digits and single hyphens";
        advice.push(unreadable(AdviceCode::SkillFolder, message));
    }
    let body = with_description(with_name(body, folder, advice), advice);
    let Some(front) = front_matter::split(&body) else { return body };
    if let Some(problem) = front.problem() {
        let message = format!("the front matter of the source cannot be read: {problem}");
        advice.push(unreadable(AdviceCode::SkillFrontMatter, message));
    } else if front.has_flow_style() {
        let message = "the source's front matter has a list or a table on one line; strict readers reject it";
        advice.push(Advice::remark(AdviceCode::SkillFlowStyle, message));
    }
    let is_foreign = |key: &&str| SKILL_FIELDS.iter().all(|field| field.key != *key);
    let foreign: Vec<String> = front.keys().filter(is_foreign).map(shown).collect();
    if !foreign.is_empty() {
        let message =
            format!("the Agent Skills format has no field {}; strict readers reject it", foreign.join(", "));
        advice.push(Advice::remark(AdviceCode::SkillField, message));
    }
    body
}

fn unreadable(code: AdviceCode, message: impl Into<String>) -> Advice {
    Advice { code, message: message.into(), weight: AdviceWeight::Unreadable }
}

fn shown(key: &str) -> String {
    one_line(key).chars().take(MAX_KEY_LEN).collect()
}

fn value(text: &str, key: &str) -> Option<Value> {
    front_matter::split(text).and_then(|front| front.get(key))
}

fn with_name(body: String, folder: &str, advice: &mut Vec<Advice>) -> String {
    let is_other = match value(&body, "name") {
        Some(Value::Text(name)) => name != folder,
        Some(Value::Other) => true,
        None => false,
    };
    if !is_other || !is_skill_name(folder) {
        return body;
    }
    match front_matter::replace(&body, "name", &quoted(folder)) {
        Some(renamed) => {
            let message = "the name in the source's front matter was replaced by that of the skill's folder";
            advice.push(Advice::remark(AdviceCode::SkillName, message));
            renamed
        }
        None => {
            let message = "the name in the source's front matter differs from the name of the skill's folder";
            advice.push(unreadable(AdviceCode::SkillName, message));
            body
        }
    }
}

fn with_description(body: String, advice: &mut Vec<Advice>) -> String {
    let Some(front) = front_matter::split(&body) else { return body };
    let Some(Value::Text(text)) = front.get("description") else { return body };
    let message = if MAX_DESCRIPTION_LEN < text.chars().count() {
        "the description in the source's front matter was cut: it is longer than 1024 characters"
    } else if front.is_misread("description") {
        "the description in the source's front matter was quoted, because YAML would read it as something else"
    } else {
        return body;
    };
    match front_matter::replace(&body, "description", &quoted(&cut(&text))) {
        Some(mended) => {
            advice.push(Advice::remark(AdviceCode::SkillDescription, message));
            mended
        }
        None => body,
    }
}
