//! Registries of tools.

use brigade::core::NextStep;
use brigade::report::{RegistriesReport, RegistryInfoReport, RegistrySearchReport};

use crate::render::View;
use crate::render::happened::first_line;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};

impl View for RegistriesReport {
    fn show(&self, page: &mut Page) {
        if self.registries.is_empty() {
            page.data.line("no registry was added");
            return;
        }
        let mut table = Table::new(["name", "location…", "sha256…"]);
        for registry in &self.registries {
            table.row([
                Text::new(Tone::Strong, &registry.name),
                Text::from(&registry.location),
                Text::from(registry.digest.as_deref().unwrap_or("")),
            ]);
        }
        page.data.table(table);
    }
}

impl View for RegistrySearchReport {
    fn show(&self, page: &mut Page) {
        page.notes(&self.notes);
        if self.servers.is_empty() {
            page.data.line("no server fits");
            return;
        }
        let mut table = Table::new(["name", "version", "registry", "description…"]);
        for server in &self.servers {
            table.row([
                Text::new(Tone::Strong, &server.name),
                Text::from(server.version.as_deref().unwrap_or("")),
                Text::from(&server.registry),
                Text::from(first_line(&server.description)),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools registry info NAME");
    }
}

impl View for RegistryInfoReport {
    fn show(&self, page: &mut Page) {
        let server = &self.server;
        page.data.field("server", Text::new(Tone::Strong, &server.name));
        page.data.field_if("version", server.version.as_ref());
        page.data.lines_if("description", &server.description);
        page.data.field("registry", if self.cached { "as cached" } else { &*server.registry });
        page.data.field("sha256", &self.digest);
        page.data.gap();
        for line in self.manifest.to_pretty().lines() {
            page.data.line(line);
        }
        page.next_step(&NextStep::Register(format!("registry:{}", server.name)));
    }
}
