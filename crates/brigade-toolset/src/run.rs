//! Dispatches calls to the functions.

use brigade_access::builtin::{Definition, refused_arguments};
use brigade_core::json::from_json;
use brigade_core::{ErrorCode, Json};
use brigade_schema::Schema;
use serde::de::DeserializeOwned;

use crate::context::{Context, Failure, Output};
use crate::{
    agent, ask, docs, files, fleet, git, lane, memory, pr, proof, report, runtime, schema, script, session,
    shipped, system, task, test, todo, volume, wait, web, workflow,
};

/// The function of a built-in tool.
pub type Function = fn(&Json, &mut Context<'_>) -> Result<Output, Failure>;

/// The functions, by family.
const FAMILIES: &[&[(&str, Function)]] = &[
    agent::TOOLS,
    ask::TOOLS,
    docs::TOOLS,
    files::FUNCTIONS,
    fleet::TOOLS,
    git::TOOLS,
    lane::TOOLS,
    memory::TOOLS,
    pr::TOOLS,
    proof::TOOLS,
    report::TOOLS,
    runtime::TOOLS,
    schema::TOOLS,
    script::TOOLS,
    session::TOOLS,
    shipped::TOOLS,
    system::TOOLS,
    task::TOOLS,
    test::TOOLS,
    todo::TOOLS,
    volume::TOOLS,
    wait::TOOLS,
    web::TOOLS,
    workflow::TOOLS,
];

/// Returns the function of a tool. `None` if it is not implemented, or if the gateway answers its calls.
pub fn function(id: &str) -> Option<Function> {
    let all = FAMILIES.iter().copied().flatten();
    all.copied().find(|(known, _)| *known == id).map(|(_, function)| function)
}

/// Deserializes arguments.
///
/// # Errors
/// Fails if they do not match. The schema of the row rules this out.
pub fn arguments<T: DeserializeOwned>(input: &Json) -> Result<T, Failure> {
    from_json(input).map_err(|_| Failure::new(ErrorCode::InvalidArguments, "the arguments do not fit"))
}

/// Converts a panic of `work` to a failure, so that callers which wait for it are notified.
///
/// # Errors
/// Returns the failure of `work`, or `broke_off` if it panics.
pub fn unbroken<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.unwrap_or_else(|_| {
        let message = "internal error in Brigade; see its log";
        Err(Failure::new(ErrorCode::BrokeOff, message))
    })
}

/// Runs a tool. The arguments must match the input schema; missing ones get their defaults.
///
/// # Errors
/// Returns why the tool failed. Does not panic.
pub fn run(definition: &Definition, input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let Some(function) = function(definition.id) else {
        return Err(Failure::new(
            ErrorCode::NotAvailableHere,
            format!("`{}` is not built yet", definition.id),
        ));
    };
    let input = definition.with_defaults(input);
    let root = context.files.root().display().to_string();
    let refused = refused_arguments(definition, &input, context.agent(), &context.guards, &root);
    if let Some(refused) = refused.into_iter().next() {
        return Err(Failure::new(refused.code, format!("`{}`: {}", refused.argument, refused.message)));
    }
    let mut output = unbroken(|| function(&input, context))?;
    if definition.names_itself() {
        output = output.with("tool", Json::from(definition.id));
    }
    debug_assert_eq!(faults(definition, &output), Vec::<String>::new(), "the result of {}", definition.id);
    Ok(output)
}

/// Lists how a result violates its schema.
fn faults(definition: &Definition, output: &Output) -> Vec<String> {
    let schema = Schema::compile_root(&definition.output_schema().to_serde());
    let schema = schema.expect("the schemas of all rows are sound");
    schema.violations(&output.structured.to_serde()).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use brigade_access::builtin::definitions;

    use super::*;

    #[test]
    fn every_tool_has_a_function() {
        for definition in definitions() {
            let has = function(definition.id).is_some();
            let is_answered = definition.is_control
                || ELSEWHERE.contains(&definition.id)
                || brigade_access::builtin::is_of_issues(definition.id);
            assert!(has || is_answered, "{}", definition.id);
        }
        for (id, _) in FAMILIES.iter().copied().flatten() {
            assert!(brigade_access::builtin::definition(id).is_some(), "{id}");
        }
    }

    /// Tools that start a separate program, or whose calls the gateway answers.
    const ELSEWHERE: &[&str] = &["cmd.run", "proof.screenshot", "session.init"];
}
