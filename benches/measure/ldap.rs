//! The ldap load beside C clients of libldap: what an authentication costs the client.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use benches::blocks::{self, Arm};
use benches::cpu_time::{Cost, of_child};

use crate::section::Section;
use crate::tools::{self, pinned};

/// Simple binds of a run.
const BINDS: u32 = 20_000;
/// Connections, all kept.
const CONNECTIONS: u32 = 4;
/// Blocks of three runs each.
const BLOCKS: usize = 9;
/// Where the server runs, and where the client does.
const SERVER_CPU: &str = "0";
const CLIENT_CPU: &str = "1";
/// Who is authenticated; the server answers yes to all of them.
const DN: &str = "uid=user1,dc=example,dc=com";
const PASSWORD: &str = "secret1";
/// How long slapd may take until it listens.
const READY: Duration = Duration::from_secs(10);

/// Measures the load.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("The ldap load, beside libldap");
    let folder = tempfile::tempdir()?;
    let reference = match reference(folder.path()) {
        Ok(program) => program,
        Err(why) => {
            section.say(format!("Not measured here: {why}"));
            return Ok(section);
        }
    };
    let server = Slapd::start(folder.path())?;
    let uri = format!("ldap://{}", server.at);
    let c_client = |mode: &str| {
        let mut command = pinned(CLIENT_CPU, &reference);
        command.args([&uri, mode, &CONNECTIONS.to_string(), &BINDS.to_string(), DN, PASSWORD]);
        command
    };
    let arms = vec![
        arm("pinwise drive --driver ldap", ours(server.at)?, format!("\"completed\": {BINDS}.0")),
        arm("C, libldap: one thread, ldap_sasl_bind and poll(2)", c_client("poll"), BINDS.to_string()),
        arm("C, libldap: a thread a connection, ldap_sasl_bind_s", c_client("threads"), BINDS.to_string()),
    ];
    let outcomes = blocks::run(arms, BLOCKS)?;
    let what = format!(
        "{BINDS} simple binds over {CONNECTIONS} kept connections, answered by slapd's null back end; slapd on CPU {SERVER_CPU}, the \
         client on CPU {CLIENT_CPU}; the whole process counts"
    );
    section.compare(&what, &outcomes);
    section.say(
        "A ratio is how many binds more pinwise makes in a second of the client's CPU time. Goal: at least 1. What is left is the \
         kernel's: a send, a receive and a wait for each answer.",
    );
    Ok(section)
}

fn arm(name: &'static str, mut command: Command, expected: String) -> Arm<'static> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    Arm::new(name, move || {
        let began = Instant::now();
        let mut child = command.spawn()?;
        let (cpu_ns, said) = of_child(&mut child, |child| {
            let said = io::read_to_string(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?)?;
            child.wait()?.success().then_some(said).ok_or_else(|| io::Error::other(format!("{name} failed")))
        })?;
        // Fewer binds would be a cheaper run.
        match said.contains(&expected) {
            true => Ok(Cost { cpu_ns, wall_ns: began.elapsed().as_nanos() as u64 }),
            false => Err(io::Error::other(format!("{name}: not all binds succeeded: {said}"))),
        }
    })
}

fn ours(server: SocketAddr) -> io::Result<Command> {
    let mut command = pinned(CLIENT_CPU, &tools::pinwise()?);
    command.args(["drive", "--address", &server.ip().to_string(), "--port", &server.port().to_string()]);
    command.args(["--driver", "ldap", "--bind-dn", DN, "--password", PASSWORD, "--seconds", "60"]);
    command.args(["--connections", &CONNECTIONS.to_string(), "--max-requests", &BINDS.to_string()]);
    Ok(command)
}

/// The C client, compiled into `folder`; the error says what is missing.
fn reference(folder: &Path) -> Result<PathBuf, String> {
    if slapd().is_none() {
        return Err("there is no slapd (apt-get install slapd)".into());
    }
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let program = folder.join("ldap_binds");
    let mut compiler = Command::new("cc");
    // From its own folder: what the compiler says then is the same wherever this tree lies.
    compiler.current_dir(clients).args(["-O2", "-o"]).arg(&program);
    compiler.args(["ldap_binds.c", "-lldap", "-llber", "-lpthread"]);
    match compiler.output() {
        Err(why) => Err(format!("cc: {why} (apt-get install gcc)")),
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first =
                said.lines().find(|line| line.contains("error")).unwrap_or("it fails").trim().to_string();
            Err(format!("the C client does not compile: {first} (apt-get install libldap-dev)"))
        }
    }
}

fn slapd() -> Option<&'static Path> {
    // Not in everybody's PATH.
    ["/usr/sbin/slapd", "/usr/libexec/slapd", "/usr/lib/openldap/slapd"]
        .map(Path::new)
        .into_iter()
        .find(|path| path.is_file())
}

/// slapd with the null back end, which answers yes to every bind; ended when dropped.
struct Slapd {
    child: Child,
    at: SocketAddr,
}

impl Slapd {
    fn start(folder: &Path) -> io::Result<Self> {
        let program = slapd().ok_or(io::ErrorKind::NotFound)?;
        let config = folder.join("slapd.conf");
        let text = format!(
            "include /etc/ldap/schema/core.schema\nmodulepath /usr/lib/ldap\nmoduleload back_null\npidfile {}\n\
             database null\nsuffix \"dc=example,dc=com\"\nbind on\n",
            folder.join("slapd.pid").display()
        );
        std::fs::write(&config, text)?;
        // Free by the time that slapd asks for it, unless somebody is very quick.
        let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = pinned(SERVER_CPU, program);
        command.args(["-d", "0", "-h", &format!("ldap://{at}"), "-f"]).arg(&config);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, at };
        let began = Instant::now();
        while TcpStream::connect(at).is_err() {
            if began.elapsed() > READY {
                return Err(io::Error::other(format!("slapd does not listen on {at} after {READY:?}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
