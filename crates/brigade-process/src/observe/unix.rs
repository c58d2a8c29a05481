//! Observes nothing: these systems do not notify a process of system calls.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::Observation;
use crate::launch::{Failure, Image, read_full};

/// An observation that never starts.
#[derive(Debug)]
pub(crate) struct Observer(Infallible);

impl Observer {
    pub(crate) fn prepare(_workspace: &Path) -> Result<Arc<Observer>, String> {
        Err("this platform cannot observe what a program opens".to_owned())
    }

    pub(crate) fn seen(&self) -> Observation {
        match self.0 {}
    }
}

/// Replaces the socket, which this system does not need.
pub(crate) struct Line;

impl Line {
    pub(crate) fn open(_image: &Image) -> std::io::Result<Line> {
        Ok(Line)
    }

    pub(crate) fn hand_over(&self, _image: &Image) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn receive(self, _image: &Image) -> Option<Watcher<'_>> {
        None
    }
}

/// Replaces the watcher, which never exists here.
pub(crate) struct Watcher<'a>(Infallible, std::marker::PhantomData<&'a ()>);

impl Watcher<'_> {
    pub(crate) fn read_while_watching(&mut self, from: &OwnedFd, bytes: &mut [u8]) -> usize {
        read_full(from, bytes)
    }
}
