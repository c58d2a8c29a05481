//! The rows of common programs that take a password.

use super::password::{AFTER_LOGIN, attached, short, user};
use super::row::other;
use super::table::READS_FILE;
use super::{Row, Starts};

const MYSQL_VALUED: &str = "DehPSTuw";

pub(super) const LOGINS: &[Row] = &[
    other(&["ssh"]).starts(Starts::Anywhere),
    other(&["curl"]).valued("AbcCdDeEFHKmoPQrtTuUwxXyYz", &[]).passwords(&[user("uU", ':')]),
    other(&["http", "https", "xh", "xhs"]).valued("aAops", &[]).passwords(&[user("a", ':')]),
    other(&["sshpass"]).valued("dfP", &[]).passwords(&[short("p")]).starts(Starts::Anywhere),
    other(&["mariadb", "mariadb-admin", "mariadb-dump", "mysql", "mysqladmin", "mysqldump", "mysqlimport"])
        .valued(MYSQL_VALUED, &[])
        .passwords(&[attached("p")]),
    other(&["mongo", "mongodump", "mongoexport", "mongoimport", "mongorestore", "mongosh"])
        .valued("cdfhjoqu", &[])
        .passwords(&[short("p")]),
    other(&["redis-cli", "valkey-cli"]).valued("dDhinprstuX", &[]).passwords(&[short("a")]),
    other(&["sqlcmd"]).valued("acdDeEfFhHiKlmMoqQrsStUvwyYzZ", &[]).passwords(&[short("P")]),
    other(&["ldapadd", "ldapdelete", "ldapmodify", "ldapsearch", "ldapwhoami"])
        .valued("abdDeEfFhHloOpPRsSTUXyYz", &[])
        .passwords(&[short("w")]),
    other(&["mosquitto_pub", "mosquitto_sub"])
        .valued("ACDeFfhiIkKLmMpqtTuUVWx", &[])
        .passwords(&[short("P")]),
    // The options of these programs cannot be bundled.
    other(&["7z", "7za", "7zz"]).valued("abcdefghijklmnoqrstuvwxyz", &[]).passwords(&[attached("p")]),
    other(&["unzip"]).valued("dx", &[]).passwords(&[short("P")]),
    other(&["helm", "oras", "skopeo"]).passwords(&[AFTER_LOGIN]),
    other(&["lftp"]).valued("cdepsu", &[]).hooks(&[READS_FILE]),
    other(&["sqlplus"]).valued("CMR", &[]).files(&["login.sql"]).ends_of_code(&[".sql"]),
];
