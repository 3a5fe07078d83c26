//! What is taken out of recipes, and what stays.

use super::*;

const NATS: &str = "[load]\ndriver = 'nats'\nuser = 'ann'\npassword = 'hunter2-XYZ'\n";

fn recipe(text: &str) -> Recipe {
    Recipe::from_toml(text, "x.toml").unwrap()
}

fn refused(text: &str) -> String {
    Recipe::from_toml(text, "x.toml").unwrap_err().to_string()
}

#[test]
fn a_password_is_taken_out_and_put_back_and_the_user_stays() {
    let whole = recipe(NATS);
    let (concealed, secrets) = whole.concealed().unwrap();
    let text = concealed.to_toml().unwrap();
    assert!(text.contains("password = \"(secret)\"") && text.contains("user = \"ann\""), "{text}");
    assert!(!format!("{concealed:?}{secrets:?}").contains("hunter2"));
    assert_eq!(secrets.to_toml().unwrap(), "[load]\npassword = \"hunter2-XYZ\"\n");
    let read = Secrets::parse(&secrets.to_toml().unwrap()).unwrap();
    assert_eq!(concealed.revealed(&[&read]).unwrap(), whole);
    assert_eq!(concealed.revealed(&[&Secrets::default()]).unwrap_err(), ["load.password"]);
    // Once more takes nothing out, and a recipe without secrets is as it was.
    assert_eq!(concealed.concealed().unwrap(), (concealed.clone(), Secrets::default()));
    let none = recipe("[load]\ndriver = 'nats'\nuser = 'ann'\n");
    assert_eq!(none.concealed().unwrap(), (none.clone(), Secrets::default()));
}

#[test]
fn environments_variables_and_the_full_size_have_secrets_too() {
    let text = "[variables]\ndb_password = 'p-1'\nmax_tokens = 128\n\
                [server]\ncommand = 'srv -n {max_tokens}'\n\
                env = { PGPASSWORD = '{db_password}', API_TOKEN = 't-2', PGUSER = 'ann' }\n\
                [full]\n'load.env.X_SECRET' = 's-3'\n'budget.blocks' = 30\n\
                [load]\ndriver = 'command'\ncommand = 'x'\nenv = { X_SECRET = 's-4', HOME = '/h' }\n\
                [load.figures]\ntokens_per_s = { regex = '(x)' }\n";
    let whole = recipe(text);
    let (concealed, secrets) = whole.concealed().unwrap();
    let shown = concealed.to_toml().unwrap();
    for secret in ["p-1", "t-2", "s-3", "s-4"] {
        assert!(!shown.contains(secret) && secrets.to_toml().unwrap().contains(secret), "{secret}: {shown}");
    }
    for plain in ["128", "ann", "/h", "(x)", "30"] {
        assert!(shown.contains(plain), "{plain}: {shown}");
    }
    assert_eq!(concealed.revealed(&[&secrets]).unwrap(), whole);
    // What it says itself holds.
    let mut other = concealed.clone();
    other.server.env.insert("API_TOKEN".into(), "t-9".into());
    assert_eq!(other.revealed(&[&secrets]).unwrap().server.env["API_TOKEN"], "t-9");
}

#[test]
fn a_recipe_marks_further_ones() {
    let text = |mark: &str| {
        format!(
            "secrets = [{mark}]\n[server]\ncommand = 'srv {{port}}'\nenv = {{ REDISCLI_AUTH = 'a-1' }}\n\
             [load]\ndriver = 'http'\nheaders = {{ Authorization = 'Bearer b-2', Accept = 'c-3' }}\nbody = 'd-4'\n"
        )
    };
    let shown = |mark: &str| recipe(&text(mark)).concealed().unwrap().0.to_toml().unwrap();
    let (unmarked, marked) = (shown(""), shown("'load.headers.Authorization', 'server.env.REDISCLI_AUTH'"));
    for secret in ["a-1", "b-2"] {
        assert!(unmarked.contains(secret) && !marked.contains(secret), "{secret}: {marked}");
    }
    assert!(marked.contains("c-3") && marked.contains("Authorization"), "{marked}");
    let whole_table = shown("'load.headers'");
    assert!(!whole_table.contains("b-2") && !whole_table.contains("c-3") && whole_table.contains("d-4"));
    for (mark, said) in [
        ("'load.header'", "no text of this name"),
        ("'load.seconds'", "no text of this name"),
        ("'server.command'", "no such key can be a secret"),
        ("'load.spacing'", "cannot hold any text"),
        ("'load'", "list of processes"),
    ] {
        let why = refused(&text(mark));
        assert!(why.contains(said), "{mark}: {why}");
    }
}

#[test]
fn no_command_and_no_level_has_a_secret() {
    let command = |name: &str, value: &str| {
        format!("[variables]\n{name} = {value}\n[server]\ncommand = 'srv -x {{{name}}} -p {{port}}'\n")
    };
    let why = refused(&command("db_password", "'p-1'"));
    assert!(
        why.contains("variables.db_password") && why.contains("server.command") && !why.contains("p-1"),
        "{why}"
    );
    recipe(&command("name", "'p-1'"));
    recipe(&command("max_tokens", "128"));
    for level in [
        "[[factors]]\nkind = 'key'\nkey = 'load.password'\nvalues = ['p-1', 'p-2']\n",
        "[baseline]\nkeys = { 'load.password' = 'p-1' }\n",
        "[mis_tuning]\nkeys = { 'server.env' = { A_TOKEN = 'p-1' } }\n",
        "[[factors]]\nkind = 'places'\nlevels = [{ keys = { 'server.env.A_TOKEN' = 'p-1' } }]\n",
    ] {
        let why = refused(&format!("{level}{NATS}[server]\ncommand = 'x'\n"));
        assert!(why.contains("a level sets it") && !why.contains("p-1"), "{why}");
    }
    recipe(&format!("[[factors]]\nkind = 'key'\nkey = 'load.user'\nvalues = ['bob']\n{NATS}"));
}

#[test]
fn no_error_quotes_a_secret() {
    for (text, said) in [
        ("[load]\ndriver = 'nats'\nuser = 'ann'\npassword = 271828182\n", "string"),
        ("[load]\ndriver = 'nats'\nuser = 'ann'\npassword = hunter2-XYZ\n", "x.toml:4"),
        ("[load]\ndriver = 'nats'\npassword = 'hunter2-XYZ'\n", "there is no user"),
        ("[server]\ncommand = 'x'\nenv = { A_TOKEN = 'hunter2-{xyz}' }\n", "env.A_TOKEN"),
        ("[load]\ndriver = 'http'\nheaders = { X-Token = \"hunter2-XYZ\\u0001\" }\n", "X-Token"),
        ("secrets = ['load.method']\n[load]\ndriver = 'http'\nmethod = 'hunter2 XYZ'\n", "method"),
    ] {
        let why = refused(text);
        assert!(why.contains(said), "{why}");
        assert!(!["hunter2", "271828182", "xyz"].iter().any(|secret| why.contains(secret)), "{why}");
    }
    // What is no secret is quoted.
    let why = refused("[load]\ndriver = 'http'\nmethod = 'hunter2 XYZ'\n");
    assert!(why.contains("hunter2 XYZ"), "{why}");
    let (_, secrets) = recipe(NATS).concealed().unwrap();
    let fault = Fault::new(Class::WorkloadFailed, "load", "the server said: no hunter2-XYZ for ann", "");
    assert_eq!(secrets.kept_out_of(fault).cause, "the server said: no (secret) for ann");
}
