//! Ids, time, fingerprints, JSON, redaction and command risk for Brigade.
