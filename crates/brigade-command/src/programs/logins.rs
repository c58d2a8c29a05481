//! The rows of programs that take passwords on their command lines, and of which little else matters.

use super::options::{SAMBA_VALUED, VAULT_VALUED};
use super::password::{
    AFTER_LOGIN, NOWHERE, attached, commands, first_operands, operands, operands_beside, operands_with, pair,
    short, user, words,
};
use super::row::other;
use super::table::READS_FILE;
use super::{Password, Row, Starts};

const MYSQL_VALUED: &str = "DehPSTuw";

const LDAP_VALUED: &str = "abdDeEfFhHloOpPRsSTUXyYz";

const SNMP_VALUED: &str = "acCdDeElLmMnOrtuv";

/// Which of them is `public`, everybody knows.
const SNMP_PASSWORDS: &[Password] = &[short("AXc").but(&["public"])];

pub(super) const LOGINS: &[Row] = &[
    other(&["ssh"]).passwords(&[NOWHERE]).starts(Starts::Anywhere),
    other(&["curl"]).valued("AbcCdDeEFHKmoPQrtTuUwxXyYz", &[]).passwords(&[user("uUE", ':')]),
    other(&["http", "https", "xh", "xhs"]).valued("aAops", &[]).passwords(&[user("a", ':')]),
    other(&["sshpass"]).valued("dfP", &[]).passwords(&[short("p")]).starts(Starts::Anywhere),
    other(&["mariadb", "mariadb-admin", "mariadb-check", "mariadb-dump", "mariadb-import", "mariadb-show"])
        .valued(MYSQL_VALUED, &[])
        .passwords(&[attached("p")]),
    other(&["mysql", "mysqladmin", "mysqlbinlog", "mysqlcheck", "mysqldump", "mysqlimport", "mysqlpump"])
        .valued(MYSQL_VALUED, &[])
        .passwords(&[attached("p")]),
    other(&["mysqlsh", "mysqlshow", "mysqlslap"]).valued(MYSQL_VALUED, &[]).passwords(&[attached("p")]),
    other(&["mongo", "mongodump", "mongoexport", "mongofiles", "mongoimport", "mongorestore", "mongosh"])
        .valued("cdfhjoqu", &[])
        .passwords(&[short("p")]),
    other(&["mongostat", "mongotop"]).valued("hu", &[]).passwords(&[short("p")]),
    other(&["cbq", "couchbase-cli", "cqlsh", "mycli", "rabbitmqadmin", "twine"])
        .valued("cDefhHkPrRSu", &[])
        .passwords(&[short("p")]),
    other(&["keydb-cli", "redis-benchmark", "redis-cli", "valkey-cli"])
        .valued("dDhinprstuX", &[])
        .passwords(&[short("a"), operands(0).behind(&["auth"]), words(&["masterauth", "requirepass"])]),
    other(&["bcp", "mssql-cli", "sqlcmd", "tsql"])
        .valued("acdDeEfFhHiKlmMoqQrsStUvwyYzZ", &[])
        .passwords(&[short("P")]),
    other(&["ipmitool"]).valued("AbBcCdefgHIkKlLmNoOpRStTUyz", &[]).passwords(&[short("P")]),
    other(&["mosquitto_pub", "mosquitto_rr", "mosquitto_sub"])
        .valued("ACDeFfhiIkKLmMpqtTuUVWx", &[])
        .passwords(&[short("P")]),
    other(&["unzip"]).valued("dx", &[]).passwords(&[short("P")]),
    other(&["ssh-keygen"]).valued("abCDEfFIJjKMmnOrRsStVwYZz", &[]).passwords(&[short("NP")]),
    other(&["ldapadd", "ldapcompare", "ldapdelete", "ldapexop", "ldapmodify", "ldapmodrdn", "ldapsearch"])
        .valued(LDAP_VALUED, &[])
        .passwords(&[short("w")]),
    other(&["ldapwhoami"]).valued(LDAP_VALUED, &[]).passwords(&[short("w")]),
    other(&["ldappasswd"]).valued("bdDeEfHhoOpRtTUXyY", &[]).passwords(&[short("asw")]),
    // Their options are no bundles.
    other(&["7z", "7za", "7zr", "7zz", "rar", "unrar"])
        .valued("abcdefghijklmnoqrstuvwxyz", &[])
        .passwords(&[attached("p")]),
    other(&["bao", "vault"]).passwords(&[
        operands_beside(VAULT_VALUED).behind(&["login"]),
        pair('=').behind(&["kv put", "kv patch"]),
    ]),
    other(&["ngrok"]).passwords(&[operands_beside(&["config", "log", "log-format", "log-level", "region"])
        .behind(&["authtoken", "config add-authtoken"])]),
    other(&["net", "rpcclient", "smbcacls", "smbclient", "smbget", "winexe"])
        .valued("ADILMORSTUWbcdilmnpstw", SAMBA_VALUED)
        .passwords(&[
            user("U", '%'),
            operands(0).behind(&["//*", "\\\\*"]),
            commands("c"),
            operands(1).behind(&["logon"]),
            // `net use z: \\server\share PASSWORD`, `net user bob PASSWORD /add`
            operands(0).but(&["*:", "/*", "\\*"]).behind(&["use", "user *"]),
        ]),
    other(&["lftp"]).valued("cdepsu", &[]).hooks(&[READS_FILE]).passwords(&[
        user("u", ','),
        commands("ce"),
        operands(1).behind(&["user"]),
    ]),
    other(&["sqlplus"])
        .valued("CMR", &[])
        .files(&["login.sql"])
        .ends_of_code(&[".sql"])
        .passwords(&[pair('/')]),
    other(&["expdp", "impdp", "rman", "sqlldr"]).passwords(&[pair('/')]),
    // Their options are no bundles.
    other(&["openssl"]).passwords(&[
        words(&["-k", "-K", "-psk", "hexkey:", "hexpass:", "key:", "pass:", "secret:"]),
        operands_beside(&["in", "provider", "rand", "salt", "writerand"]).behind(&["passwd"]),
    ]),
    other(&["wlfreerdp", "xfreerdp", "xfreerdp3"]).passwords(&[words(&["/gp:", "/p:", "/pth:"])]),
    other(&["htpasswd"]).valued("Cr", &[]).passwords(&[operands_with('b', 2), operands_with('n', 1)]),
    other(&["rabbitmqctl"])
        .valued("lnpt", &["--longnames", "--node", "--timeout", "--vhost"])
        .passwords(&[operands(1).behind(&["add_user", "authenticate_user", "change_password"])]),
    other(&["snmpbulkget", "snmpbulkwalk", "snmpdf", "snmpget", "snmpgetnext", "snmpinform", "snmpset"])
        .valued(SNMP_VALUED, &[])
        .passwords(SNMP_PASSWORDS),
    other(&["snmpstatus", "snmptable", "snmptest", "snmptrap", "snmpusm", "snmpwalk"])
        .valued(SNMP_VALUED, &[])
        .passwords(SNMP_PASSWORDS),
    other(&["gh"]).passwords(&[
        short("b").behind(&["secret set"]),
        words(&["--body", "--body="]).behind(&["secret set"]),
    ]),
    other(&["mc", "mcli"]).passwords(&[operands(2).behind(&["alias set"])]),
    other(&["wpa_passphrase"]).passwords(&[operands(1)]),
    other(&["cypher-shell", "rdesktop", "useradd", "usermod"])
        .valued("abcdefgkrsuG", &[])
        .passwords(&[short("p")]),
    other(&["ansible-vault"]).passwords(&[operands_beside(&[
        "encrypt-vault-id",
        "n",
        "name",
        "output",
        "vault-id",
        "vault-password-file",
    ])
    .behind(&["encrypt_string"])]),
    other(&["bw"]).passwords(&[operands(1).behind(&["login"]), operands(0).behind(&["unlock"])]),
    other(&["crackmapexec", "evil-winrm", "hydra", "netexec", "nxc", "psexec", "twilio"])
        .valued("HLPdistu", &[])
        .passwords(&[short("p")]),
    other(&["ncftpget", "ncftpls", "ncftpput"]).valued("Pduf", &[]).passwords(&[short("p")]),
    other(&["fly", "flyctl"]).passwords(&[pair('=').behind(&["secrets set"])]),
    other(&["vercel"]).valued("AQS", &[]).passwords(&[short("t")]),
    other(&["choco"]).passwords(&[short("k").behind(&["push"])]),
    other(&["nmcli"]).passwords(&[words(&["802-11-wireless-security.psk", "password", "wifi-sec.psk"])]),
    other(&["pdftk"]).passwords(&[words(&["owner_pw", "user_pw"])]),
    other(&["rclone"]).passwords(&[operands(0).behind(&["obscure"]), words(&["pass", "secret_access_key"])]),
    other(&["sendemail", "swaks"]).passwords(&[words(&["-ap", "-xp"])]),
    other(&["signtool"]).passwords(&[words(&["/p"])]),
    other(&["security"]).passwords(&[
        short("w").behind(&["add-generic-password", "add-internet-password"]),
        short("p").behind(&["create-keychain", "set-keychain-password", "unlock-keychain"]),
        short("P").behind(&["import"]),
    ]),
    other(&["zkcli", "zkcli.sh"]).passwords(&[pair(':').behind(&["addauth digest"])]),
    other(&["grafana-cli", "neo4j-admin"]).passwords(&[operands(0).behind(&[
        "admin reset-admin-password",
        "dbms set-initial-password",
        "set-initial-password",
    ])]),
    other(&["isql", "p4"]).valued("Cu", &[]).passwords(&[short("P")]),
    other(&["doctl"]).valued("cou", &[]).passwords(&[short("t")]),
    other(&["az", "cf", "cosign", "crane", "ibmcloud", "oc", "regctl", "skopeo"]).passwords(&[AFTER_LOGIN]),
    other(&["qpdf"]).passwords(&[first_operands(2).behind(&["--encrypt"])]),
    other(&["iwconfig"]).passwords(&[words(&[
        "[1]",
        "[2]",
        "[3]",
        "[4]",
        "enc",
        "encryption",
        "key",
        "restricted",
    ])
    .but(&["[*", "off", "on", "open", "restricted"])]),
    other(&["snowsql"]).valued("DacdfhopqrsuwK", &[]).passwords(&[short("m")]),
    other(&["airflow"]).valued("eflru", &[]).passwords(&[short("p").behind(&[
        "create_user",
        "users create",
        "users reset-password",
    ])]),
    other(&["dscl"]).valued("u", &[]).passwords(&[short("P"), operands(1).behind(&["-passwd", "* passwd"])]),
];
