//! Finds the password of a member where the programs of PostgreSQL look for it.

use crate::url::TeamUrl;

/// Returns the password for an address: the value of `PGPASSWORD`, or that of the first line of the password file that
/// matches.
pub fn password_for(url: &TeamUrl, variable: Option<&str>, file: Option<&str>) -> Option<String> {
    if let Some(password) = variable.filter(|password| !password.is_empty()) {
        return Some(password.to_owned());
    }
    let (host, port, database, user) = url.parts();
    let target = [host, port.to_string(), database, user];
    file?.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let [host, port, database, user, password] = fields(line).try_into().ok()?;
        let matches = [host, port, database, user]
            .iter()
            .zip(&target)
            .all(|(field, target)| field == "*" || field == target);
        matches.then_some(password)
    })
}

/// Splits a line at its colons. A backslash before a colon or a backslash takes it as it is.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => field.extend(characters.next()),
            ':' => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_counts() {
        let url: TeamUrl = "postgresql://rev-1@db.example/brigade".parse().unwrap();
        let file = "# hosts\nother:*:*:*:no\ndb.example:5432:brigade:rev-1:a\\:b\\\\c\n*:*:*:*:last\n";
        assert_eq!(password_for(&url, None, Some(file)).as_deref(), Some("a:b\\c"));
        assert_eq!(password_for(&url, Some("mine"), Some(file)).as_deref(), Some("mine"));
        assert_eq!(password_for(&url, Some(""), Some("short:line")), None);
        let socket: TeamUrl = "postgresql:///x?host=/run/pg&user=a".parse().unwrap();
        assert_eq!(password_for(&socket, None, Some("localhost:*:x:a:yes")).as_deref(), Some("yes"));
    }
}
