//! Dispatches calls to the functions.

use brigade_access::builtin::{Definition, may_start_a_program, refused_arguments};
use brigade_core::json::from_json;
use brigade_core::{ErrorCode, Json};
use brigade_schema::Schema;
use serde::de::DeserializeOwned;

use crate::context::{Context, Failure, Output};
use crate::{
    ask, docs, files, fleet, git, lane, memory, pr, proof, report, script, session, system, test, todo,
    volume, web,
};

/// The function of a built-in tool.
pub type Function = fn(&Json, &mut Context<'_>) -> Result<Output, Failure>;

/// The functions, by family.
const FAMILIES: &[&[(&str, Function)]] = &[
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
    script::TOOLS,
    session::TOOLS,
    system::TOOLS,
    test::TOOLS,
    todo::TOOLS,
    volume::TOOLS,
    web::TOOLS,
];

/// The tool whose calls the gateway answers in every build.
const INIT: &str = "session.init";

/// Returns whether something answers the calls of a tool: a function of this crate, a program, or the gateway.
pub fn is_built(definition: &Definition) -> bool {
    let is_answered_elsewhere =
        definition.is_control || definition.id == INIT || may_start_a_program(definition.id);
    is_answered_elsewhere || function(definition.id).is_some()
}

/// Returns the function of a tool. `None` if this crate does not have it.
fn function(id: &str) -> Option<Function> {
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
    let missing = || {
        let message = format!("this build of Brigade does not have `{}`", definition.id);
        Failure::new(ErrorCode::NotAvailableHere, message)
    };
    run_function(definition, input, context, function(definition.id).ok_or_else(missing)?)
}

/// Runs the function of a tool like [`run`].
///
/// # Errors
/// Returns why the tool failed. Does not panic.
pub fn run_function(
    definition: &Definition,
    input: &Json,
    context: &mut Context<'_>,
    function: impl FnOnce(&Json, &mut Context<'_>) -> Result<Output, Failure>,
) -> Result<Output, Failure> {
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
    use brigade_access::builtin::definition;

    use super::*;
    use crate::stored::testing::Bench;

    #[test]
    fn each_function_has_a_row() {
        for (id, _) in FAMILIES.iter().copied().flatten() {
            assert!(definition(id).is_some(), "{id}");
        }
    }

    #[test]
    fn tools_of_another_crate_are_not_available() {
        for id in ["agent.list", "task.list", "workflow.list"] {
            assert!(!is_built(definition(id).unwrap()), "{id}");
            assert_eq!(Bench::new().code("agent:ada", id, "{}"), ErrorCode::NotAvailableHere, "{id}");
        }
        for id in ["cmd.run", "fs.read", "session.init", "todo.read"] {
            assert!(is_built(definition(id).unwrap()), "{id}");
        }
    }
}
