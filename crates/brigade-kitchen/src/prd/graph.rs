//! The dependency graph of tasks: cycles, waves and dependents.

use std::collections::HashMap;

use super::Task;
use crate::names::TaskId;

/// The dependency graph of tasks, by their positions in the PRD. Unknown and self dependencies are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    positions: HashMap<TaskId, usize>,
    needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
}

impl Graph {
    /// Builds the graph. If tasks share an id, the first one counts.
    pub fn new(tasks: &[Task]) -> Graph {
        let mut positions = HashMap::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            positions.entry(task.id.clone()).or_insert(at);
        }
        let mut needs = vec![Vec::new(); tasks.len()];
        let mut needed_by = vec![Vec::new(); tasks.len()];
        for (at, task) in tasks.iter().enumerate() {
            let known = task.depends_on.iter().filter_map(|id| positions.get(id).copied());
            let mut known: Vec<usize> = known.filter(|other| *other != at).collect();
            known.sort_unstable();
            known.dedup();
            for other in &known {
                needed_by[*other].push(at);
            }
            needs[at] = known;
        }
        Graph { positions, needs, needed_by }
    }

    /// Returns the position of a task.
    pub fn position(&self, id: &TaskId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// Returns the direct dependencies of a task.
    pub fn needs(&self, task: usize) -> &[usize] {
        &self.needs[task]
    }

    /// Returns the direct dependents of a task.
    pub fn needed_by(&self, task: usize) -> &[usize] {
        &self.needed_by[task]
    }

    /// Marks all tasks that depend on the given ones, directly or not. The given tasks themselves are not marked.
    pub fn dependents(&self, tasks: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut marked = vec![false; self.needs.len()];
        let mut open: Vec<usize> = tasks.into_iter().collect();
        while let Some(task) = open.pop() {
            for next in &self.needed_by[task] {
                if !std::mem::replace(&mut marked[*next], true) {
                    open.push(*next);
                }
            }
        }
        marked
    }

    /// Lists one shortest cycle for each group of tasks that depend on each other. The first task of a cycle depends on
    /// the second one, and the last on the first.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut cycles: Vec<Vec<usize>> =
            self.groups().iter().filter_map(|group| self.shortest_cycle(group)).collect();
        cycles.sort();
        cycles
    }

    /// Returns the strongly connected components with several tasks, by Tarjan's algorithm without recursion.
    fn groups(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.needs.len();
        let (mut order, mut lowest) = (vec![NEW; count], vec![NEW; count]);
        let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
        let (mut next, mut groups) = (0, Vec::new());
        for root in 0..count {
            if order[root] != NEW {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((task, at)) = path.pop() {
                if at == 0 {
                    (order[task], lowest[task]) = (next, next);
                    next += 1;
                    stack.push(task);
                    on_stack[task] = true;
                }
                if let Some(other) = self.needs[task].get(at).copied() {
                    path.push((task, at + 1));
                    if order[other] == NEW {
                        path.push((other, 0));
                    } else if on_stack[other] {
                        lowest[task] = lowest[task].min(order[other]);
                    }
                    continue;
                }
                if lowest[task] == order[task] {
                    let from = stack.iter().rposition(|other| *other == task).unwrap_or_default();
                    let mut group = stack.split_off(from);
                    for member in &group {
                        on_stack[*member] = false;
                    }
                    if 1 < group.len() {
                        group.sort_unstable();
                        groups.push(group);
                    }
                }
                if let Some((above, _)) = path.last() {
                    lowest[*above] = lowest[*above].min(lowest[task]);
                }
            }
        }
        groups
    }

    /// Returns a shortest path from the first task of a group back to it.
    fn shortest_cycle(&self, group: &[usize]) -> Option<Vec<usize>> {
        let start = *group.first()?;
        let mut came_from = HashMap::new();
        let mut open = std::collections::VecDeque::from([start]);
        while let Some(task) = open.pop_front() {
            for other in &self.needs[task] {
                if *other == start {
                    let mut cycle = vec![task];
                    let mut at = task;
                    while at != start {
                        at = came_from[&at];
                        cycle.push(at);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if group.binary_search(other).is_ok() && !came_from.contains_key(other) {
                    came_from.insert(*other, task);
                    open.push_back(*other);
                }
            }
        }
        None
    }
}

/// Returns the waves of tasks: each wave depends only on those before it. Tasks in a cycle, and tasks that depend on
/// one, are in no wave.
///
/// `is_wanted` selects the tasks. All others count as done.
pub fn waves(graph: &Graph, is_wanted: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let selected: Vec<bool> = (0..graph.needs.len()).map(is_wanted).collect();
    let mut missing: Vec<usize> =
        graph.needs.iter().map(|needs| needs.iter().filter(|other| selected[**other]).count()).collect();
    let mut wave: Vec<usize> = (0..selected.len()).filter(|at| selected[*at] && missing[*at] == 0).collect();
    let mut waves = Vec::new();
    while !wave.is_empty() {
        let mut next = Vec::new();
        for task in &wave {
            for other in graph.needed_by[*task].iter().filter(|other| selected[**other]) {
                missing[*other] -= 1;
                if missing[*other] == 0 {
                    next.push(*other);
                }
            }
        }
        next.sort_unstable();
        waves.push(std::mem::replace(&mut wave, next));
    }
    waves
}
