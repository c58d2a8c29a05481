//! Tests of the rule for command lines.

use brigade_command::Argv;

use crate::{is_secret_command, shown_command};

use super::*;

#[track_caller]
fn check(line: &str, shown: &str) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let found: Vec<String> =
        Redactor::new(&[]).redact_command(&words).iter().map(|word| word.as_str().to_owned()).collect();
    assert_eq!(found.join(" "), shown);
    assert_eq!(has_secret(&words), line != shown, "{line}");
    assert!(!has_secret(&found), "{line}");
}

#[test]
fn secrets_behind_every_name_are_masked() {
    for (line, shown) in [
        ("x --pw hunter2xyz", "x --pw [redacted]"),
        ("x --pat abcdefgh99 y", "x --pat [redacted] y"),
        ("x -basic u:hunter2xyz", "x -basic u:[redacted]"),
        ("x --jwt V9 --otp 123456", "x --jwt [redacted] --otp [redacted]"),
        ("x --cookie sid=V9", "x --cookie [redacted]"),
        ("x -u bob:V9", "x -u bob:[redacted]"),
        ("x --hmac Vabc12345", "x --hmac [redacted]"),
        ("docker run -e FOO=hunter2xyz i", "docker run -e FOO=[redacted] i"),
        ("docker run -ieFOO=hunter2xyz i", "docker run -ieFOO=[redacted] i"),
        ("docker run --env=FOO=hunter2xyz i", "docker run --env=FOO=[redacted] i"),
        ("x --private-key /ghp_abcdefghijklmnopqrstuvwxyz0123456789", "x --private-key [redacted]"),
        ("x --openai-key S3cr3tV4lue99 --v", "x --openai-key [redacted] --v"),
        ("x --google-maps-key=S3cr3tV4lue99", "x --google-maps-key=[redacted]"),
        ("aws configure set aws_secret_access_key V9", "aws configure set aws_secret_access_key [redacted]"),
        ("git config --global user.token V9", "git config --global user.token [redacted]"),
        ("npm config set //h/:_authToken V9", "npm config set //h/:_authToken [redacted]"),
        (
            "kubectl create secret generic s --from-literal=A=V9",
            "kubectl create secret generic s --from-literal=A=[redacted]",
        ),
        (
            "kubectl create secret generic s --from-literal A=V9",
            "kubectl create secret generic s --from-literal A=[redacted]",
        ),
        ("setx API_KEY V9", "setx API_KEY [redacted]"),
        ("git clone https://S3cr3tV4lue99@github.com/a/b", "git clone https://[redacted]@github.com/a/b"),
    ] {
        check(line, shown);
    }
}

#[test]
fn passwords_behind_short_options_of_programs_are_masked() {
    for (line, shown) in [
        ("redis-cli -h db -a V9 ping", "redis-cli -h db -a [redacted] ping"),
        ("mongosh -u bob -p V9 db", "mongosh -u bob -p [redacted] db"),
        ("mongodump -pV9", "mongodump -p[redacted]"),
        ("ldapsearch -x -D cn=admin -w V9 -b dc=x", "ldapsearch -x -D cn=admin -w [redacted] -b dc=x"),
        ("ldapsearch -xw V9", "ldapsearch -xw [redacted]"),
        ("ldapwhoami -wV9", "ldapwhoami -w[redacted]"),
        ("ldappasswd -a V8 -s V9", "ldappasswd -a [redacted] -s [redacted]"),
        ("az login -u bob -p V9 --tenant x", "az login -u bob -p [redacted] --tenant x"),
        ("az acr login -n r -p V9", "az acr login -n r -p [redacted]"),
        ("mysql -uroot -p12345 shop", "mysql -uroot -p[redacted] shop"),
        ("sqlcmd -S db -P V9", "sqlcmd -S db -P [redacted]"),
        ("7z x -p1234 a.7z", "7z x -p[redacted] a.7z"),
        ("unzip -oP V9 a.zip", "unzip -oP [redacted] a.zip"),
        ("ssh-keygen -t ed25519 -N V9", "ssh-keygen -t ed25519 -N [redacted]"),
        ("http -a bob:V9 https://h", "http -a bob:[redacted] https://h"),
        ("cargo +nightly login V9", "cargo +nightly login [redacted]"),
        ("vault login -no-print V9", "vault login -no-print [redacted]"),
        ("doctl auth init -t V9", "doctl auth init -t [redacted]"),
        ("skopeo login -p V9 h", "skopeo login -p [redacted] h"),
        ("docker exec db /usr/bin/redis-cli -a V9", "docker exec db /usr/bin/redis-cli -a [redacted]"),
        ("helm repo add r https://h --password V9", "helm repo add r https://h --password [redacted]"),
        ("kubectl --token V9 get pods", "kubectl --token [redacted] get pods"),
        ("psql postgres://bob:V9@h/x", "psql postgres://[redacted]@h/x"),
    ] {
        check(line, shown);
        assert!(is_secret_command(line), "{line}");
    }
    assert!(is_secret_command("sh -c 'cat x; redis-cli > f 2>&1 -a V9 ping'"));
    assert!(is_secret_command("sh -c 'redis-cli -a V9 ping'") && is_secret_command("redis-cli '-a' V9"));
    for line in [
        "redis-cli -h db -p 6379 -n 1 --data x",
        "mongosh --help db --port 27017",
        "ldapsearch -x -W -b dc=x -s sub -a never",
        "az vm list -g x -p y",
        "mongosh -u bob -p $PASS db",
        "docker run --name mongosh -p 27017:27017 -d img",
        "docker run --name redis-cli -a stdin img",
        "docker run --name mysql -p3306:3306 mysql",
        "zip -r a.zip b",
        "7z x a.7z -p",
        "ssh-keygen -t ed25519 -f key -C me",
        "http -p Hh https://h",
        "cargo run -- login bob",
        "cargo login --registry $NAME",
        "vault login -method=github",
        "vault kv get x",
        "sh -c 'mongosh --eval x && mkdir -p out'",
    ] {
        check(line, line);
        assert!(!is_secret_command(line), "{line}");
    }
}

#[test]
fn options_of_programs_are_found_in_bundles() {
    for (line, shown) in [
        ("curl -sSu bob:V9 https://h", "curl -sSu bob:[redacted] https://h"),
        ("curl -kU bob:V9 -Lsu a:V9", "curl -kU bob:[redacted] -Lsu a:[redacted]"),
        ("curl -subob:V9 https://h", "curl -subob:[redacted] https://h"),
        ("curl -b a=V9 -sb c=V9 https://h", "curl -b a=[redacted] -sb c=[redacted] https://h"),
        ("ldapsearch -xwV9 -b dc=x", "ldapsearch -xw[redacted] -b dc=x"),
        ("ldapsearch -xZZwV9", "ldapsearch -xZZw[redacted]"),
        ("ldapsearch -xZZw V9", "ldapsearch -xZZw [redacted]"),
        ("mysql -vpV9 shop", "mysql -vp[redacted] shop"),
        ("zip -rPV9 a.zip b", "zip -rP[redacted] a.zip b"),
        ("unzip -oPV9 a.zip", "unzip -oP[redacted] a.zip"),
        ("sshpass -vpV9 ssh h", "sshpass -vp[redacted] ssh h"),
        ("http -A bearer -a V9 https://h", "http -A bearer -a [redacted] https://h"),
        ("xh -aV9 --auth-type=bearer https://h", "xh -a[redacted] --auth-type=bearer https://h"),
        ("x --auth Bearer hunter2xyz", "x --auth Bearer [redacted]"),
        ("vault login -address https://h V9", "vault login -address https://h [redacted]"),
        ("vault login -no-print -namespace ns V9", "vault login -no-print -namespace ns [redacted]"),
        ("vault login -path p -method=token V9", "vault login -path p -method=token [redacted]"),
        ("cargo login --registry x V9", "cargo login --registry x [redacted]"),
        ("ngrok --config f authtoken V9", "ngrok --config f authtoken [redacted]"),
        ("ngrok --region eu config add-authtoken V9", "ngrok --region eu config add-authtoken [redacted]"),
        ("ssh mongo redis-cli -a V9", "ssh mongo redis-cli -a [redacted]"),
        ("docker exec db mysql -pV9", "docker exec db mysql -p[redacted]"),
        ("docker compose -f f exec db mysql -pV9", "docker compose -f f exec db mysql -p[redacted]"),
        ("docker-compose exec db mysql -pV9", "docker-compose exec db mysql -p[redacted]"),
        ("kubectl exec x -- mysql -pV9", "kubectl exec x -- mysql -p[redacted]"),
        ("npx -y mysql -pV9", "npx -y mysql -p[redacted]"),
        ("sudo -u mysql redis-cli -a V9", "sudo -u mysql redis-cli -a [redacted]"),
        ("sudo -E timeout 5 mysql -pV9", "sudo -E timeout 5 mysql -p[redacted]"),
        ("env A=1 nice -n 5 mysql -pV9", "env A=1 nice -n 5 mysql -p[redacted]"),
        ("A=1 mysql -pV9", "A=1 mysql -p[redacted]"),
        ("heroku run mysql -pV9", "heroku run mysql -p[redacted]"),
        ("python3 -m mycli -p V9", "python3 -m mycli -p [redacted]"),
        ("docker --debug login -u b -p V9", "docker --debug login -u b -p [redacted]"),
        ("helm registry login h -p V9", "helm registry login h -p [redacted]"),
    ] {
        check(line, shown);
        assert!(is_secret_command(line), "{line}");
    }
    for line in [
        "mysql -vp shop",
        "mysql -uphp -Dshop_dp",
        "curl -sSo up:x -Hp https://h",
        "curl -b cookies -sfb $COOKIES https://h",
        "ldapsearch -xWLLL -s sub",
        "vault login -method=oidc role=reader1",
        "vault login -method userpass username=bob",
        "cargo login --registry mine1",
        "http -A bearer https://x",
        "npx x --auth-type bearer https://x.example",
        "x --scheme Basic https://h1.example:8080/a",
        "npx x --auth basic server1.js",
        "kubectl logs mongo -p 100",
        "cargo run -p mongo -p pkg1",
        "git add mongo -p f1",
        "cf push login -p dist/app1.war",
        "az network vnet create -n login -p x1",
        "ls redis-cli -a dir1",
        "sudo ls redis-cli -a dir1",
        "timeout 5 git add mongo -p f1",
    ] {
        check(line, line);
        assert!(!is_secret_command(line), "{line}");
    }
}

#[test]
fn passwords_are_found_in_parts_of_words_operands_and_behind_subcommands() {
    for (line, shown) in [
        ("smbclient //h/s -U bob%V9", "smbclient //h/s -U bob%[redacted]"),
        (
            "smbclient -NUbob%V9 --user=bob%V9 //h/s",
            "smbclient -NUbob%[redacted] --user=bob%[redacted] //h/s",
        ),
        ("smbclient -p 445 //h/s V9 -U bob", "smbclient -p 445 //h/s [redacted] -U bob"),
        ("smbget --user bob%V9 smb://h/s/x", "smbget --user bob%[redacted] smb://h/s/x"),
        ("lftp -u bob,V9 ftp.example.com", "lftp -u bob,[redacted] ftp.example.com"),
        ("lftp -ubob,V9 -e quit h", "lftp -ubob,[redacted] -e quit h"),
        ("sqlplus bob/V9", "sqlplus bob/[redacted]"),
        ("sqlplus -S bob/V9@//h:1521/x @a/b.sql", "sqlplus -S bob/[redacted] @a/b.sql"),
        ("sqlldr userid=bob/V9@db control=a/b.ctl", "sqlldr userid=bob/[redacted] control=a/b.ctl"),
        ("openssl enc -aes-256-cbc -k V9 -in a", "openssl enc -aes-256-cbc -k [redacted] -in a"),
        ("openssl enc -d -pass pass:V9 -in a", "openssl enc -d -pass pass:[redacted] -in a"),
        ("openssl rsa -passin pass:V9 -in a", "openssl rsa -passin pass:[redacted] -in a"),
        ("openssl passwd -6 -salt ab V9", "openssl passwd -6 -salt ab [redacted]"),
        ("openssl dgst -mac HMAC -macopt hexkey:V9 a", "openssl dgst -mac HMAC -macopt hexkey:[redacted] a"),
        ("htpasswd -b file bob V9", "htpasswd -b file bob [redacted]"),
        ("htpasswd -Bbc -C 10 file bob V9", "htpasswd -Bbc -C 10 file bob [redacted]"),
        ("htpasswd -nbB bob V9", "htpasswd -nbB bob [redacted]"),
        ("rabbitmqctl add_user bob V9", "rabbitmqctl add_user bob [redacted]"),
        (
            "rabbitmqctl -n rabbit@h change_password bob V9",
            "rabbitmqctl -n rabbit@h change_password bob [redacted]",
        ),
        ("xfreerdp /u:bob /p:V9 /v:h", "xfreerdp /u:bob /p:[redacted] /v:h"),
        ("snmpwalk -v3 -u bob -A V9 -X V9 h", "snmpwalk -v3 -u bob -A [redacted] -X [redacted] h"),
        ("gh secret set N -b V9", "gh secret set N -b [redacted]"),
        ("gh -R o/r secret set N --body V9", "gh -R o/r secret set N --body [redacted]"),
        ("gh secret set N --body=V9", "gh secret set N --body=[redacted]"),
        ("redis-cli -h db AUTH V9", "redis-cli -h db AUTH [redacted]"),
        ("redis-cli auth bob V9", "redis-cli auth [redacted] [redacted]"),
        ("poetry publish -u bob -p V9", "poetry publish -u bob -p [redacted]"),
        ("poetry -C dir publish --build -pV9", "poetry -C dir publish --build -p[redacted]"),
        ("uv publish -u bob -p V9", "uv publish -u bob -p [redacted]"),
        ("uv publish -t V9 --token V9", "uv publish -t [redacted] --token [redacted]"),
        ("twine upload -u bob -p V9 dist/a.whl", "twine upload -u bob -p [redacted] dist/a.whl"),
        ("python3 -m twine upload -p V9 dist/a.whl", "python3 -m twine upload -p [redacted] dist/a.whl"),
        ("uv run twine upload -p V9 dist/a.whl", "uv run twine upload -p [redacted] dist/a.whl"),
        ("pipx run twine upload -p V9 dist/a.whl", "pipx run twine upload -p [redacted] dist/a.whl"),
        ("mc alias set m https://h bob V9", "mc alias set m https://h [redacted] [redacted]"),
        ("wpa_passphrase home V9", "wpa_passphrase home [redacted]"),
        ("sudo htpasswd -b file bob V9", "sudo htpasswd -b file bob [redacted]"),
        ("redis-cli CONFIG SET requirepass V9", "redis-cli CONFIG SET requirepass [redacted]"),
        ("nmcli dev wifi connect home password V9", "nmcli dev wifi connect home password [redacted]"),
        ("vault kv put secret/x foo=V9 bar=@a.json", "vault kv put secret/x foo=[redacted] bar=@a.json"),
        ("fly secrets set -a app FOO=V9 BAR=V9", "fly secrets set -a app FOO=[redacted] BAR=[redacted]"),
        ("ansible-vault encrypt_string --name n V9", "ansible-vault encrypt_string --name n [redacted]"),
        ("bw login bob V9", "bw login bob [redacted]"),
        ("rclone obscure V9", "rclone obscure [redacted]"),
        ("dotnet user-secrets set name V9", "dotnet user-secrets set name [redacted]"),
        ("poetry config http-basic.x bob V9", "poetry config http-basic.x bob [redacted]"),
        ("npm config set _auth V9", "npm config set _auth [redacted]"),
        (
            "curl -E a.pem:V9 --cert a.pem:V9 https://h",
            "curl -E a.pem:[redacted] --cert a.pem:[redacted] https://h",
        ),
        ("security unlock-keychain -p V9", "security unlock-keychain -p [redacted]"),
        ("zkCli.sh addauth digest bob:V9", "zkCli.sh addauth digest bob:[redacted]"),
        ("snmpwalk -v2c -c V9 h", "snmpwalk -v2c -c [redacted] h"),
        ("snmpget -v 1 -cV9 h oid", "snmpget -v 1 -c[redacted] h oid"),
        ("qpdf --encrypt V8 V9 256 -- in out", "qpdf --encrypt [redacted] [redacted] 256 -- in out"),
        ("qpdf in out --encrypt V8 V9 256 --", "qpdf in out --encrypt [redacted] [redacted] 256 --"),
        ("iwconfig wlan0 essid x key s:V9", "iwconfig wlan0 essid x key [redacted]"),
        ("iwconfig wlan0 key restricted V9", "iwconfig wlan0 key restricted [redacted]"),
        (r"net use z: \\h\s V9 /user:bob", r"net use z: \\h\s [redacted] /user:bob"),
        (r"net use \\h\s /user:bob V9", r"net use \\h\s /user:bob [redacted]"),
        ("net user bob V9 /add", "net user bob [redacted] /add"),
        ("snowsql -a x -u bob -m 123456", "snowsql -a x -u bob -m [redacted]"),
        ("airflow users create -u a -p V9 -r Admin", "airflow users create -u a -p [redacted] -r Admin"),
        ("airflow users reset-password -u a -pV9", "airflow users reset-password -u a -p[redacted]"),
        ("dscl . -passwd /Users/bob V9", "dscl . -passwd /Users/bob [redacted]"),
        (
            "dscl -u bob -P V9 /LDAPv3/h passwd x V9",
            "dscl -u bob -P [redacted] /LDAPv3/h passwd x [redacted]",
        ),
    ] {
        check(line, shown);
        assert!(is_secret_command(line), "{line}");
    }
    for line in [
        "smbclient -L h -U bob --max-protocol SMB3",
        "smbclient //h/s -U % -c ls",
        "smbclient //h/s -U bob%$PASS",
        "lftp -u bob ftp.example.com",
        "lftp -e mirror:a,b h",
        "sqlplus / as sysdba",
        "sqlplus bob/@db @a/b.sql",
        "sqlplus /nolog @a/b.sql",
        "expdp bob@db directory=a dumpfile=a/b.dmp",
        "openssl rsa -in key1.pem -passin env:KEY1",
        "openssl s_client -connect h:443 -key key1.pem",
        "openssl rand -hex 32",
        "htpasswd -c file1 bob1",
        "htpasswd -n bob1",
        "rabbitmqctl list_users name1 tags1",
        "rabbitmqctl add_vhost a1 b1",
        "xfreerdp /u:bob /v:h1 /port:3389",
        "gh pr create -b text1 -t x1",
        "gh secret list -R o/r1",
        "redis-cli get auth x1",
        "poetry run -p x1",
        "uv -p 3.12 run x1",
        "uv pip install -p 3.12 x1",
        "mc ls m/x1",
        "redis-cli CONFIG SET maxmemory 2gb",
        "vault kv get -field=a1 secret/x1",
        "vault write a/b c=d1",
        "fly secrets list -a app1",
        "fly deploy -a app1 --env A=b1",
        "dotnet test -k x1",
        "dotnet build -c Release1",
        "bw get item x1 y1",
        "curl -E a1.pem https://h:8080/x1",
        "security find-generic-password -w x1",
        "mc alias list m1",
        "snmpwalk -v2c -c public h .1",
        "qpdf --linearize in1 out1",
        "qpdf --pages a1 1-3 -- in1 out1",
        "iwconfig wlan0 essid home1",
        "iwconfig wlan0 key off mode a1",
        r"net use z: \\h\s1 /user:bob",
        "net use z: /delete",
        "net user bob /delete",
        "net ads join -U bob",
        "snowsql -a x1 -u bob -D a=b1 -q x1",
        "airflow webserver -p 8080 -D x1",
        "airflow dags list -p x1",
        "dscl . -read /Users/bob UserShell1",
    ] {
        check(line, line);
        assert!(!is_secret_command(line), "{line}");
    }
}

#[test]
fn a_command_in_any_word_is_read_by_the_same_rules() {
    for (program, text, shown) in [
        ("ssh h", "cd /x && mysql -pV9", "cd /x && mysql -p[redacted]"),
        ("ssh h", "export A=1; redis-cli -a V9", "export A=1; redis-cli -a [redacted]"),
        ("ssh h", "echo x | redis-cli -a V9", "echo x | redis-cli -a [redacted]"),
        ("ssh h", "false || redis-cli -a V9", "false || redis-cli -a [redacted]"),
        ("ssh h", "cd x\nredis-cli -a V9", "cd x\nredis-cli -a [redacted]"),
        ("ssh h", "sudo mysql -pV9", "sudo mysql -p[redacted]"),
        ("ssh h", "mytool --pat abcdefgh99", "mytool --pat [redacted]"),
        ("watch", "cd x && mysql -pV9", "cd x && mysql -p[redacted]"),
        ("script -qc", "cd x && mysql -pV9", "cd x && mysql -p[redacted]"),
        ("hyperfine", "curl -sSu a:V9 h", "curl -sSu a:[redacted]"),
        ("mytool --run", "x; docker exec db mysql -pV9", "x; docker exec db mysql -p[redacted]"),
        ("lftp -e", "open -u bob,V9 h", "open -u bob,[redacted]"),
        ("sudo lftp h -c", "cd x; user bob V9", "cd x; user bob [redacted]"),
        ("smbclient //h/s -Nc", "logon bob V9", "logon bob [redacted]"),
        ("git commit -m", "bw login bob V9", "bw login bob [redacted]"),
    ] {
        let mut words: Vec<String> = program.split(' ').map(str::to_owned).collect();
        words.push(text.to_owned());
        let found = Redactor::new(&[]).redact_command(&words);
        assert_eq!(found.last().map(Redacted::as_str), Some(shown), "{program}");
        assert!(has_secret(&words), "{program} {text}");
        let line = format!("{program} \"{text}\"");
        assert!(!shown_command(&line).contains("V9"), "{line}");
    }
    for line in [
        "git commit -m 'say how mysql -pX works'",
        "ssh h 'cd x && kubectl logs mongo -p 100'",
        "echo 'bw login is easy'",
        "git commit -m 'vault login is broken in the new version'",
        "git commit -m 'redis-cli AUTH has no user; bw unlock now works with a prompt'",
        "lftp -c 'open -u bob h; mirror a1 b1'",
        "smbclient //h/s -c 'cd a1; get b1'",
    ] {
        assert!(!is_secret_command(line), "{line}");
    }
}

#[test]
fn what_refers_to_a_secret_or_is_about_one_stays() {
    for line in [
        "x --private-key ~/.ssh/id",
        "x --private-key=keys/deploy_key",
        "x --api-key YOUR_API_KEY",
        "x --token $TOKEN --token=${TOKEN} --token ${TOKEN}",
        "docker build --secret id=npm,src=.npmrc .",
        "x --bearer-token-env-var FOO --apikey-header X-Key --authorization enabled",
        "x --bearer-token-env-var=FOO --api-key-header=X-Api-Key --authorization=enabled",
        "docker run -e PORT=8080 -e NODE_ENV=production -e TZ=Europe/Berlin -e V=v1.20.3 i",
        "docker run -e URL=https://a1b2c3d4.example/x -e DIR=/srv/a1b2c3d4e5 -u 1000:staff i",
        "x -u localhost:8080 -u db.example:5432 --user node:node --session main --key primary",
        "date -u +%Y-%m-%dT%H:%M:%SZ",
        "ffmpeg -i a.mp4 -pass 1 b.mp4",
        "sort -u --key=2,3n a.txt",
        "openssl enc -pass stdin -in a",
        "chroot --user root:wheel /x",
        "sort -u C:\\x",
        "git clone https://user@host/x",
        "git clone ssh://git@host/x",
        "git config credential.helper store",
        "git config --get user.token",
        "git config user.name secret",
        "aws configure set region eu-west-1",
        "aws configure set aws_secret_access_key $KEY",
        "kubectl create configmap c --from-literal=A=V9abcdef1",
        "kubectl create secret generic s --from-literal=A=$A --from-file=k",
        "setx PATH C:\\x",
        "x --cache-key linux-9f3c77aa10 --sort-key a1b2c3d4e5",
        "node --inspect server.js --path /x --pattern foo --sasl plain --otp-length 6",
    ] {
        check(line, line);
    }
}

#[test]
fn a_secret_of_a_command_in_a_word_is_masked_and_not_its_program() {
    for (word, shown) in [
        ("ProxyCommand=sshpass -p hunter2 ssh x", "ProxyCommand=sshpass -p [redacted]"),
        ("sshpass -p 'hunter2' ssh x", "sshpass -p [redacted]"),
        ("ProxyCommand=ssh -p 22 -W %h:%p jump", "ProxyCommand=ssh -p 22 -W %h:%p jump"),
    ] {
        let words = ["ssh", "-o", word, "h"].map(str::to_owned);
        let found = Redactor::new(&[]).redact_command(&words);
        assert_eq!(found[2].as_str(), shown);
        assert_eq!(has_secret(&words), word != shown, "{word}");
        let line = format!("ssh -o \"{word}\" h");
        assert!(word == shown || !shown_command(&line).contains("hunter2"), "{line}");
    }
}

#[test]
fn ordinary_commands_of_ordinary_tools_hold_no_secret() {
    let commands = [
        // A host and its port.
        "nc -u host:53",
        "nc -u host 53",
        "dig -u host:53",
        "socat -u TCP:host:80 STDOUT",
        "kubectl config set-context c --user=bob:dev",
        // Programs and patterns that only name a field.
        "jq '{token: .token}' f",
        "jq '{password: .pw, user: .u}' f",
        "sed -e 's/token=.*/token=X/' f",
        "sed -i 's/password=old/password=new/' f",
        "npx playwright test --grep 'password: hidden'",
        "git commit -m 'password: reset the form'",
        // Names of secrets.
        "gcloud secrets versions access latest --secret=my-secret",
        "gcloud secrets versions access latest --secret my-secret",
        "gcloud run deploy x --update-secrets=DB_PASS=db-pass:latest",
        "gcloud run deploy x --update-secrets DB_PASS=db-pass:latest",
        "gcloud run deploy x --set-secrets=/etc/a=my-secret:1",
        "helm template --set existingSecret=my-secret c",
        "cosign verify --key k8s://ns/secret img",
        "terraform import x arn:aws:secretsmanager:us-east-1:123456789012:secret:db-abc123",
        // Keys of other things.
        "aws ec2 create-tags --tags Key=Name,Value=web",
        "aws ec2 create-tags --tags Key=env,Value=prod2024a",
        "aws resourcegroupstaggingapi get-resources --tag-filters Key=env,Values=prods",
        "aws s3api put-object --bucket b --key img_0231.jpg",
        "aws s3api put-object --bucket b --key assets/logo@2x.png",
        "csvsort --key col2",
        "csvsort --key foo_bar2",
        "xdotool --key F5",
        "cache --key dist-v2",
        "npm x --pin v1.2.3",
        // Words as values.
        "x --hmac sha256",
        "openssl dgst -sha256 -hmac sha256 f",
        "x --signature v4",
        "x --token-source env",
        "x --secret-backend vault",
        // Names without a value, and values without a secret.
        "grep -e token -e secret src",
        "grep -e TOKEN -e SECRET src",
        "xterm -e token vim",
        "node app.js -e API_KEY",
        "node app.js -e API_KEY $KEY -e NODE_ENV production",
        "node app.js --headers X-Org-Id main",
        "node app.js --config '{\"headers\":{\"Accept\":\"application/json\"}}'",
        "node app.js --config '{\"env\":{\"NODE_ENV\":\"production\",\"PORT\":\"8080\",\"T\":\"${T}\"}}'",
        "node app.js --config '{\"a\":\"hunter2\"}'",
        "curl 'https://e.com/?key=name&sort=desc&page=2'",
        "curl 'https://e.com/?key=$KEY'",
        "fetch --credentials include",
        "fetch --credentials same-origin",
        "x --auth github",
        "x --token auto --token stdin --token env --token=env",
        "x --password prompt --password ask --password=prompt",
        // A reference, a switch, and special tokens of a tokenizer.
        "gpg --passphrase-fd 0",
        "make docs SECRET_SCAN=1",
        "x --secret-scan=deep",
        "x --mask-token '[MASK]' --pad-token '[PAD]'",
        // Programs: calls, variables and members.
        "python3 -c 'f(password=getpass())'",
        "python3 -c 'token=get_token(); run(token=token)'",
        "python3 -c \"print('token:', x)\"",
        "python3 -c \"print('token: %s' % x)\"",
        "python3 -c 'pw = input(); login(user, password=pw)'",
        "python3 -c \"f(password=os.environ['DB_PASS'], token=base64.b64decode(x))\"",
        "uv run python -c \"f(password=getpass('Password: '))\"",
        "node -e \"fetch(u,{headers:{Authorization:'Bearer '+process.env.T}})\"",
        "node --eval 'const token = await login(user); console.log(token)'",
        "ruby -e 'puts(token: ENV.fetch(\"API_TOKEN\"))'",
        "awk '{print \"token: \" $1}' f",
        "jq -r '\"token=\" + .token' f",
        "jq -r '\"token=\\(.token)\"' f",
        "jq '.password |= ascii_downcase' f",
        // Formats.
        "printf 'token: %s\\n' x",
        "printf 'user=%s password=%-10s\\n' a b",
        "curl -w 'token: %{http_code}\\n' https://h",
        "git log '--format=password: %s%n'",
        // Patterns and replacements.
        "perl -pe 's/token=\\w+/token=X/' f",
        "perl -pe 's/password: \\S+/password: [FILTERED]/g' f",
        "sed 's/^password=.*$/password=REDACTED/' f",
        "rg 'token=\\S+' src",
        "grep -E 'password: [^ ]+' f",
        // Names of tests and rules, searches and messages.
        "go test -run TestToken/secret=empty",
        "pytest 't.py::T::test[token=abc]'",
        "pytest 'tests/t.py::TestLogin::test_it[password=empty]'",
        "npx jest -t 'password: rejects short'",
        "npx eslint --rule 'no-secrets: error' src",
        "npx eslint --rule '{no-secrets/no-secrets: 2}' src",
        "gh search code 'api_key: filename:x'",
        "git log '--grep=token: fix'",
        "git commit -am 'password: reset the form'",
        "gpg --default-key 9F3C77AA10B2C3D4 --sign f",
        "echo 'Secret: ready'",
        "echo 'Password: Ask the Admin'",
        "echo 'password: must not be empty'",
        "echo 'the token: see below'",
        // The same in a text for a shell.
        "sh -c \"printf 'token: %s\\n' x; sed 's/token=old/token=new/' f\"",
        "bash -lc \"python3 -c 'f(password=getpass())'\"",
    ];
    let is_wrong = |command: &&str| {
        let words = Argv::parse(command).unwrap();
        let shown = Redactor::new(&[]).redact_command(words.words());
        let is_masked = shown.iter().zip(words.words()).any(|(shown, word)| shown.as_str() != word);
        is_secret_command(command) || is_masked || shown_command(command) != *command
    };
    let wrong: Vec<&str> = commands.into_iter().filter(is_wrong).collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn secrets_beside_ordinary_words_stay_secret() {
    let commands = [
        "curl -u bob:V9 https://h",
        "x -u bob:hunter2xyz",
        "x -u bob:open",
        "x --user=bob:hunter2xyz",
        "nc -u host:hunter2xyz",
        "x --password hunter2",
        "x --token abc123def",
        "x --token=abc123def",
        "x --password=correcthorse",
        "x --secret hunter2",
        "x --secret=V9abc123",
        "curl -k https://h/?password=open",
        "x -m password=open",
        "x --secrets A=hunter2",
        "x --key hunter2x",
        "x --key AbCdEfGh",
        "x --key 9f3c",
        "x --pin 4711",
        "x --hmac hunter2x",
        "x --auth abc123def",
        "x --credentials hunter2",
        "x --signature hunter2x",
        "sh -c 'x --password=hunter2'",
        "curl -d 'password=hunter2&user=me' https://h",
        "curl -d '{\"token\": \"hunter2xyz\"}' https://h",
        "echo 'password: hunter2'",
        "sed -i 's/password=old/password=hunter2/' f",
        "git commit -m 'password: hunter2'",
        "helm template --set adminPassword=hunter2 c",
        // The name beside the value.
        "node app.js -e API_KEY hunter2",
        "node app.js --seed-phrase hunter2",
        "node app.js --headers X-Api-Key hunter2",
        "node app.js -H Authorization hunter2",
        "node app.js --config '{\"headers\":{\"X-A\":\"hunter2\"}}'",
        "node app.js --config='{\"env\":{\"A\":\"hunter2\"}}'",
        "node app.js --env '{\"A\":\"hunter2\"}'",
        "curl https://e.com/?key=hunter2",
        "curl e.com/?x=1&key=hunter2",
        "curl 'https://e.com/?sig=hunter2x#a'",
        "helm template --set clientSecret=hunter2x c",
        // Programs, formats, patterns, names and sentences with a value.
        "python3 -c \"f(password='open')\"",
        "python3 -c 'f(password=hunter2)'",
        "python3 -c \"f(password=str('hunter2'))\"",
        "python3 -c \"print('token: hunter2')\"",
        "python3 -c \"print('token:', x); f(password='open')\"",
        "python3 -c \"f(token='Bearer ' + 'hunter2')\"",
        "python3 -c \"f(password=get() or 'hunter2')\"",
        "python3 -c \"pw='open'\"",
        "python3 -c 'f(token=ghp_abcdefghijklmnopqrstuvwxyz0123456789)'",
        "node -e \"fetch(u,{headers:{Authorization:'Bearer abcEXAMPLE'}})\"",
        "node -e \"f({password: 'open'})\"",
        "perl -e '$password=q(hunter2); x()'",
        "git log '--grep=token: hunter2'",
        "jq '.password = \"open\"' f",
        "jq '{\"token\": \"hunter2\"}' f",
        "awk -v password=open '{print}' f",
        "awk '{print \"token: hunter2\"}' f",
        "printf 'token: hunter2 %s\\n' x",
        "printf 'password=open user=%s\\n' x",
        "curl 'https://h/?password=%41%42c'",
        "perl -pe 's/token=\\w+/token=hunter2/' f",
        "perl -pe 's/x/y/; s/password=.*/password=hunter2/' f",
        "sed 's/^password=.*$/password=HUNTER2/' f",
        "x -run password=open",
        "pytest 't.py::test[token=hunter2]'",
        "npx jest -t 'password: hunter2'",
        "echo 'Secret: hunter2'",
        "echo 'password: correcthorse'",
        "echo 'password: correct horse battery'",
        "echo 'Password: correct horse battery'",
        "sh run.sh 'db:\n  passwd: correct horse battery'",
        "x 'client-secret: correct horse battery'",
        "x 'passphrase: open the old door'",
        "curl -H 'X-Api-Key: open sesame' https://h",
        "curl --header='X-Api-Key: open sesame' https://h",
        "http h 'X-Api-Key: open sesame'",
        "http h 'Authorization: correcthorse'",
        "sh -c \"printf 'token: %s\\n' x; y --password=hunter2\"",
        "sh -c \"printf 'token: %s\\n' x; sshpass -p q1 ssh h\"",
        "sh -c \"grep x f; curl -d password=open h\"",
        "sh -c 'cat <<E\npassword: hunter2\nE'",
    ];
    let is_wrong = |command: &&str| !is_secret_command(command) || !shown_command(command).contains(MARK);
    let wrong: Vec<&str> = commands.into_iter().filter(is_wrong).collect();
    assert_eq!(wrong, [""; 0]);
}

/// The texts that name fields are shown, but no token in them, and a rule that is skipped for speed finds the same.
#[test]
fn a_text_about_secrets_shows_none() {
    for line in [
        "grep ghp_abcdefghijklmnopqrstuvwxyz0123456789 src",
        "git commit -m 'rotate AKIAIOSFODNN7EXAMPLE'",
        "x --title 'ghp_abcdefghijklmnopqrstuvwxyz0123456789: rotate'",
        "jq '{token: .ghp_abcdefghijklmnopqrstuvwxyz0123456789}' f",
        "x --secret id=ghp_abcdefghijklmnopqrstuvwxyz0123456789:1",
        "x --user '$USER:hunter2xyz'",
        "x -u %USER%:hunter2xyz",
        "x -u root:letmein",
        r#"tool --set '[{"name":"X","value":"9f3c77"}]'"#,
        "sh -c 'mytool --pat abcdefgh99'",
        "sh -c 'x --pw hunter2xyz'",
        "x --token v1-123-456-789-012",
    ] {
        assert!(is_secret_command(line), "{line}");
        let shown = shown_command(line);
        for secret in ["ghp_abc", "AKIA", "hunter2", "letmein", "9f3c77", "abcdefgh99", "456"] {
            assert!(!shown.contains(secret), "{line}: {shown}");
        }
    }
}
