//! Observes nothing: these systems do not notify a process of system calls.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::{Observation, PreparedSandbox};

/// An observation that never starts.
#[derive(Clone, Debug)]
pub struct Observer(());

impl Observer {
    /// Prepares nothing.
    pub fn new(_workspace: &Path) -> Observer {
        Observer(())
    }

    /// Says that nothing was observed.
    pub fn observation(&self) -> Observation {
        Observation::Unavailable("this platform cannot observe what a program opens".to_owned())
    }

    /// Opens nothing.
    pub fn open_socket<'a>(&'a self, _: &'a PreparedSandbox) -> io::Result<Option<ListenerSocket<'a>>> {
        Ok(None)
    }
}

/// A socket that never exists here.
#[derive(Debug)]
pub struct ListenerSocket<'a>(Infallible, PhantomData<&'a ()>);

impl<'a> ListenerSocket<'a> {
    /// Is never called.
    pub fn receive(self) -> Option<Watcher<'a>> {
        match self.0 {}
    }
}

/// A watcher that never exists here.
#[derive(Debug)]
pub struct Watcher<'a>(Infallible, PhantomData<&'a ()>);

impl Watcher<'_> {
    /// Is never called.
    pub fn read_while_watching(&mut self, _from: &OwnedFd, _bytes: &mut [u8]) -> usize {
        match self.0 {}
    }
}
