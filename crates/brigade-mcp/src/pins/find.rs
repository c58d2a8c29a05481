//! Finds pins by typed ids, and accepts offered changes.

use brigade_catalog::Catalog;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, NextStep, closest};
use brigade_fs::FsError;
use brigade_policy::Failure;

use super::{PinRecord, PinStore, ServerState};

/// The minimum number of fingerprint digits that identify an offered change.
const MIN_PREFIX_LEN: usize = 8;

impl PinStore<'_> {
    /// Finds a pin by its id, a prefix of its id, or the id of a catalog tool.
    ///
    /// # Errors
    /// Fails if no pin or several pins match, if the pin cannot be read, or on a disk error.
    pub fn the_pin(&self, catalog: &Catalog, id: &str) -> Result<PinRecord, Failure> {
        let id = id.trim();
        let (pins, broken) = self.all()?;
        if let Some(pin) = pins.iter().find(|pin| pin.id() == id) {
            return Ok(pin.clone());
        }
        let key = match catalog.tool(id) {
            Some(tool) => self.key(catalog, tool)?,
            None => None,
        };
        if let Some(key) = key
            && let Some(pin) = pins.iter().find(|pin| pin.tool == key)
        {
            return Ok(pin.clone());
        }
        let matches: Vec<&PinRecord> =
            pins.iter().filter(|pin| !id.is_empty() && pin.id().starts_with(id)).collect();
        let shown = escape_terminal(id);
        match matches.as_slice() {
            [pin] => Ok((*pin).clone()),
            [] => {
                let file = format!("{id}.json");
                if let Some(broken) = broken.iter().find(|broken| broken.path.as_str().ends_with(&file)) {
                    let message = format!("the pin `{shown}` cannot be read: {}", broken.trouble);
                    return Err(Failure::new(ErrorKind::Refused, message));
                }
                let names: Vec<String> = pins.iter().map(PinRecord::id).collect();
                let failure = Failure::new(ErrorKind::NotFound, format!("no pin has the id `{shown}`"))
                    .coded(ErrorCode::PinMissing);
                Err(match closest(id, names.iter().map(String::as_str)) {
                    Some(near) => failure.hint(format!("did you mean `{}`?", escape_terminal(near))),
                    None => failure.hint(NextStep::ListPins),
                })
            }
            several => Err(Failure::ambiguous("pin", id, several.iter().map(|pin| pin.id()).collect())),
        }
    }

    /// Finds the list of a server by its id.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn server_of(&self, catalog: &Catalog, id: &str) -> Result<Option<ServerState>, FsError> {
        let (pins, _) = self.all()?;
        let states = self.servers(catalog, &pins)?;
        Ok(states.into_iter().find(|state| state.listing.id() == id.trim()))
    }

    /// Makes the offered change of a pin the pin. `fingerprint` is the start of the fingerprint of the reviewed change.
    ///
    /// # Errors
    /// Fails if there is no offered change or a different one, or on a disk error.
    pub fn accept(&self, pin: PinRecord, fingerprint: Option<&str>) -> Result<PinRecord, Failure> {
        let id = pin.id();
        let shown = escape_terminal(&id);
        let refused = |message: String| Failure::new(ErrorKind::Refused, message);
        let Some(offered) = pin.offered.clone() else {
            return Err(refused(format!("the pin `{shown}` has no changes")).hint(NextStep::ComparePins));
        };
        if let Some(prefix) = fingerprint {
            let prefix = prefix.trim().to_ascii_lowercase();
            let failure = if prefix.len() < MIN_PREFIX_LEN {
                Some(refused(format!("the fingerprint needs at least {MIN_PREFIX_LEN} digits")))
            } else if !offered.fingerprint().to_hex().starts_with(&prefix) {
                Some(refused(format!("the server offers a different change for the pin `{shown}`")))
            } else {
                None
            };
            if let Some(failure) = failure {
                return Err(failure.hint(NextStep::ShowPin(id)));
            }
        }
        Ok(self.renew(pin, &offered)?)
    }

    /// Makes the latest list of a server the known one. Such a list has no fingerprint.
    ///
    /// # Errors
    /// Fails if the list did not change, or on a disk error.
    pub fn accept_server(
        &self,
        state: ServerState,
        fingerprint: Option<&str>,
    ) -> Result<ServerState, Failure> {
        let message = match fingerprint {
            Some(_) => "the list of a server has no fingerprint".to_owned(),
            None if state.is_changed() => return Ok(self.accept_names(state)?),
            None => format!("the list `{}` has no changes", escape_terminal(&state.listing.id())),
        };
        Err(Failure::new(ErrorKind::Refused, message).hint(NextStep::ComparePins))
    }
}
