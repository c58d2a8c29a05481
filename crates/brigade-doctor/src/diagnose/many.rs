//! Thousands of tools on all processors.

use brigade_catalog::Tool;

use crate::Issue;

/// Below this number of tools, starting threads costs more than they save.
const WORTH_THREADS: usize = 256;

/// Diagnoses tools in their order, on all processors when there are many.
pub(super) fn for_all(tools: &[&Tool], one: impl Fn(&Tool, &mut Vec<Issue>) + Sync, found: &mut Vec<Issue>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if tools.len() < WORTH_THREADS || threads == 1 {
        tools.iter().for_each(|tool| one(tool, found));
        return;
    }
    let part = |tools: &[&Tool]| {
        let mut found = Vec::with_capacity(tools.len() * 2);
        tools.iter().for_each(|tool| one(tool, &mut found));
        found
    };
    let part = &part;
    std::thread::scope(|scope| {
        let parts = tools.chunks(tools.len().div_ceil(threads));
        let parts: Vec<_> = parts.map(|tools| scope.spawn(move || part(tools))).collect();
        for part in parts {
            // A panic there is one here.
            found.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Family;

    use super::*;
    use crate::IssueType;

    #[test]
    fn many_tools_are_diagnosed_in_their_order() {
        for count in [0, 1, WORTH_THREADS - 1, WORTH_THREADS, WORTH_THREADS * 3 + 1] {
            let tools: Vec<Tool> = (0..count)
                .map(|number| Tool::new(&format!("tool-{number}"), Family::Script).unwrap())
                .collect();
            let mut found = vec![Issue::new(IssueType::Config, "before")];
            let one = |tool: &Tool, found: &mut Vec<Issue>| {
                found.push(Issue::new(IssueType::Config, tool.id.as_str()));
            };
            for_all(&tools.iter().collect::<Vec<_>>(), one, &mut found);
            let ids = tools.iter().map(|tool| tool.id.as_str());
            let expect: Vec<&str> = std::iter::once("before").chain(ids).collect();
            assert_eq!(found.iter().map(|issue| issue.detail.as_str()).collect::<Vec<_>>(), expect);
        }
    }
}
