//! A team in a separate schema, with members who have keys.

#![allow(dead_code, reason = "the bench of claims uses its own part of this")]

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use brigade_fs::{FsError, FsErrorKind};
use brigade_queue::{LocalHost, Queue, SharedHost};
use brigade_team::{
    Connection, Credentials, NewMember, Owner, Role, Schema, TeamError, TeamStore, TeamStoreOptions,
    TeamTables,
};
use brigade_testkit::Postgres;
use ed25519_dalek::SigningKey;

/// A team in a separate schema.
pub struct World {
    server: &'static Postgres,
    pub schema: Schema,
    pub owner: Owner,
    pub made: TeamTables,
    members: Vec<String>,
}

/// Returns the key of a member. It is the same in each run.
pub fn key(member: &str) -> SigningKey {
    let mut seed = [7; 32];
    seed.iter_mut().zip(member.bytes()).for_each(|(seed, byte)| *seed = byte);
    SigningKey::from_bytes(&seed)
}

pub fn hex_key(member: &str) -> String {
    key(member).verifying_key().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Prepares a connection that waits a second at most.
pub fn connection(url: &str, schema: &Schema) -> Result<Connection, TeamError> {
    let read: &dyn Fn(&std::path::Path) -> Result<Vec<u8>, FsError> =
        &|path| Err(FsError::new("read", path.display().to_string(), FsErrorKind::NotFound));
    let credentials = Credentials { password: None, read };
    Connection::new(url.parse()?, schema.clone(), credentials, Duration::from_secs(5))
}

impl World {
    /// Makes a team with these members. `None` without PostgreSQL.
    pub fn new(name: &str, members: &[(&str, &[Role])]) -> Option<World> {
        let server = Postgres::get(name)?;
        let schema: Schema = name.parse().unwrap();
        let owner = Owner::new(connection(&server.url("postgres", "owner"), &schema).unwrap());
        let made = {
            // Roles are of the whole server.
            static MADE: Mutex<()> = Mutex::new(());
            let _one_by_one = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            owner.init().unwrap()
        };
        let mut world = World { server, schema, owner, made, members: Vec::new() };
        for (member, roles) in members {
            world.add(member, roles, &[]);
        }
        Some(world)
    }

    /// Returns the team of this name, which is made once.
    pub fn shared(name: &'static str, members: &[(&str, &[Role])]) -> Option<Arc<World>> {
        static WORLD: OnceLock<Option<Arc<World>>> = OnceLock::new();
        WORLD.get_or_init(|| World::new(name, members).map(Arc::new)).clone()
    }

    pub fn add(&mut self, member: &str, roles: &[Role], workspaces: &[String]) {
        let (login, key) = (self.login(member), key(member).verifying_key());
        let new = NewMember { name: &login, roles, key: Some(&key), workspaces, password: None };
        self.owner.add_member(&new).unwrap();
        self.members.push(member.to_owned());
    }

    /// Returns the login of a member, which no other team has.
    pub fn login(&self, member: &str) -> String {
        format!("{}-{member}", self.schema)
    }

    /// Returns the store of a member on the host `host`, which trusts every member's key.
    pub fn store(&self, member: &str, workspace: &str) -> TeamStore {
        self.store_on(member, workspace, "host", &self.members)
    }

    /// Returns the store of a host that has joined a team with another id in the same database.
    pub fn store_of_team(&self, member: &str, workspace: &str, team_id: &str) -> TeamStore {
        let keys = self.members.iter().map(|member| (self.login(member), hex_key(member))).collect();
        self.store_as(member, workspace, "host", (team_id, keys))
    }

    pub fn store_on(&self, member: &str, workspace: &str, host: &str, trusted: &[String]) -> TeamStore {
        let keys = trusted.iter().map(|member| (self.login(member), hex_key(member))).collect();
        self.store_as(member, workspace, host, (&self.made.team_id, keys))
    }

    fn store_as(
        &self,
        member: &str,
        workspace: &str,
        host: &str,
        (team_id, keys): (&str, BTreeMap<String, String>),
    ) -> TeamStore {
        let (url, key) = (self.server.url("postgres", &self.login(member)), key(member));
        TeamStore::new(TeamStoreOptions {
            connection: Arc::new(connection(&url, &self.schema).unwrap()),
            workspace: workspace.to_owned(),
            team_id: team_id.to_owned(),
            keys,
            rules: Vec::new(),
            signer: Arc::new(move || Ok(Some(key.clone()))),
            host: host.to_owned(),
            lease_seconds: 60,
            lease_lost: None,
            seen: None,
        })
    }

    /// Returns the store of a login in a team that no world made.
    pub fn store_of(
        server: &'static Postgres,
        login: &str,
        schema: &Schema,
        (team_id, keys): (&str, BTreeMap<String, String>),
    ) -> TeamStore {
        TeamStore::new(TeamStoreOptions {
            connection: Arc::new(connection(&server.url("postgres", login), schema).unwrap()),
            workspace: "shop".to_owned(),
            team_id: team_id.to_owned(),
            keys,
            rules: Vec::new(),
            signer: Arc::new(|| Ok(None)),
            host: "host".to_owned(),
            lease_seconds: 60,
            lease_lost: None,
            seen: None,
        })
    }

    /// Returns the store of a member with claims of two seconds, and what says that one was lost.
    pub fn short_store(&self, member: &str) -> (TeamStore, Receiver<()>) {
        let (say, said) = channel();
        let member = member.to_owned();
        let store = TeamStore::new(TeamStoreOptions {
            connection: Arc::new(
                connection(&self.server.url("postgres", &self.login(&member)), &self.schema).unwrap(),
            ),
            workspace: "shop".to_owned(),
            team_id: self.made.team_id.clone(),
            keys: BTreeMap::from([(self.login(&member), hex_key(&member))]),
            rules: Vec::new(),
            signer: Arc::new(move || Ok(Some(key(&member)))),
            host: "host".to_owned(),
            lease_seconds: 2,
            lease_lost: Some(Arc::new(move || say.send(()).unwrap_or(()))),
            seen: None,
        });
        (store, said)
    }

    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// Returns the address of the database for a login.
    pub fn url(&self, login: &str) -> String {
        self.server.url("postgres", login)
    }

    pub fn queue(&self, member: &str) -> Queue {
        queue_on(self.store(member, "shop"))
    }

    /// Connects a login without any code of ours, as `psql` does.
    pub fn psql(&self, login: &str) -> postgres::Client {
        postgres::Client::connect(&self.server.url("postgres", login), postgres::NoTls).unwrap()
    }

    /// Runs a statement as the owner, who can change everything.
    pub fn as_owner(&self, sql: &str) -> u64 {
        self.psql("owner").execute(&sql.replace("@schema@", &self.schema.to_string()), &[]).unwrap()
    }
}

pub fn queue_on(store: TeamStore) -> Queue {
    let local = LocalHost::new(Arc::new(brigade_fs::MemoryFs::new()));
    Queue::new(Arc::new(store), Arc::new(SharedHost(local)))
}
