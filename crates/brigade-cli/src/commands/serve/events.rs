//! Shows the person at the terminal what happens in the server, one line each, and calls for attention.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use brigade::core::Timestamp;
use brigade::daily::arguments_line;
use brigade_gateway::ServeEvent;

use crate::render::attention::Attention;
use crate::render::text::{Colour, Text, Tone};
use crate::render::when::{self, Now};
use crate::surroundings::Surroundings;

/// Where events are shown.
pub(super) struct EventLines<'a> {
    surroundings: &'a Surroundings,
    colour: Colour,
    /// The calls that were said to wait. A client asks again until they are decided.
    waiting: Mutex<HashSet<String>>,
}

impl<'a> EventLines<'a> {
    pub(super) fn new(surroundings: &'a Surroundings, colour: Colour) -> EventLines<'a> {
        EventLines { surroundings, colour, waiting: Mutex::default() }
    }

    /// Shows an event. Without a terminal, only warnings are shown.
    pub(super) fn show(&self, event: &ServeEvent) {
        let is_terminal = self.surroundings.error.is_some();
        let mut attention = String::new();
        let text = match event {
            ServeEvent::Warning(text) => return super::warn(text),
            _ if !is_terminal => return,
            ServeEvent::Connected { agent, client } => Text::new(Tone::Strong, agent)
                .then(Tone::Plain, " connected")
                .then(Tone::Faint, &in_brackets(client)),
            ServeEvent::Answered { agent, tool, arguments, status, is_error, took } => {
                let tone = if *is_error { Tone::Bad } else { Tone::Good };
                Text::new(Tone::Strong, agent)
                    .then(Tone::Plain, &format!(" {tool} {arguments}  "))
                    .then(tone, status)
                    .then(Tone::Faint, &format!(" {}", when::format_seconds(took.as_secs_f64())))
            }
            ServeEvent::Waits(call) => {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if !waiting.insert(call.id.to_string()) {
                    return;
                }
                let agent = call.caller.agent().unwrap_or_default();
                attention = Attention::for_terminal(self.surroundings).map_or_else(String::new, |kind| {
                    kind.sequences(&format!("{agent} asks for {}", call.tool_id))
                });
                Text::new(Tone::Strong, agent)
                    .then(Tone::Plain, &format!(" {} {}  ", call.tool_id, arguments_line(&call.args)))
                    .then(Tone::Warning, "waits")
                    .then(Tone::Faint, "  brigade approve ")
                    .then(Tone::Accent, call.id.as_str())
            }
            _ => return,
        };
        let mut line = String::new();
        Text::new(Tone::Faint, &format!("{}  ", self.time())).and(text).write(self.colour, &mut line);
        drop(writeln!(std::io::stderr(), "{line}{attention}"));
    }

    fn time(&self) -> String {
        let at: Timestamp = self.surroundings.clock.now();
        Now { at, offset_minutes: Some(self.surroundings.local_offset_minutes) }.brief(at)
    }
}

fn in_brackets(client: &str) -> String {
    if client.trim().is_empty() { String::new() } else { format!(" ({})", client.trim()) }
}
