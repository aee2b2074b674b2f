//! The options of a remote cache and of remote execution, for all commands that run pipelines, and
//! the messages about them.
//!
//! Only this file knows the client, and only if litmake is built with the feature `remote`. Without
//! it the options exist, and give an error that says what is missing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use litmake::base::digest::Digest;
use litmake::diag::{Diag, Result};
use litmake::engine::elsewhere::Elsewhere;
use litmake::engine::remote::Remote;
use litmake::engine::run;
use litmake::stop::Stop;

#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Remote cache")]
pub struct RemoteArgs {
    /// A remote cache, by the Bazel Remote Execution API: grpc://HOST:PORT, or grpcs://HOST[:PORT]
    /// with encryption. litmake reads results that the local cache lacks, and uploads new ones
    #[arg(long, value_name = "URL", env = "LITMAKE_REMOTE_CACHE")]
    remote_cache: Option<String>,

    #[command(flatten)]
    access: Access,

    /// Use results of the remote cache. With `false`, litmake computes everything that the local
    /// cache lacks
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    remote_accept_cached: bool,

    /// Upload results to the remote cache. Use `false` where foreign code runs, such as for pull
    /// requests
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    remote_upload_local_results: bool,

    /// Continue without the remote cache or executor if it cannot be used. With `false`, the run
    /// ends with status 3 if that shows at its start
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    remote_local_fallback: bool,
}

/// The options of remote execution.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Remote execution")]
pub struct ExecutionArgs {
    /// A server that executes actions, by the Bazel Remote Execution API: its workers compile and
    /// simulate tests, too. The remote cache that they share is this server, unless --remote-cache
    /// names another
    #[arg(long, value_name = "URL", env = "LITMAKE_REMOTE_EXECUTOR")]
    remote_executor: Option<String>,

    /// The largest number of jobs that are sent at a time [default: 8]
    #[arg(long, value_name = "N", requires = "remote_executor",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    remote_jobs: Option<u32>,

    /// The number of a worker's cores that a job uses [default: 1]
    #[arg(long, value_name = "N", requires = "remote_executor",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    remote_cores: Option<u32>,

    /// A property that workers must have; may be repeated
    #[arg(long = "remote-platform", value_name = "NAME=VALUE", requires = "remote_executor",
          value_parser = super::common::assignment)]
    remote_properties: Vec<(String, String)>,

    /// The seconds that a job may take on a worker [default: 600]
    #[arg(long, value_name = "SECONDS", requires = "remote_executor",
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    remote_execution_timeout: Option<u32>,

    /// The seconds that jobs wait in a queue that does not move [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "remote_executor",
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    remote_queue_timeout: Option<u32>,

    /// The program that workers run, which must have the same version: for example one that is
    /// linked for their system [default: this program]
    #[arg(long, value_name = "FILE", requires = "remote_executor")]
    remote_worker: Option<PathBuf>,
}

/// The options of remote execution, with their defaults.
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "it is of the feature"))]
pub struct Execution {
    pub url: String,
    pub jobs: usize,
    pub cores: u32,
    pub properties: Vec<(String, String)>,
    pub timeout: Duration,
    pub patience: Duration,
    pub program: PathBuf,
}

impl ExecutionArgs {
    /// Puts `--jobs` into the options. 0 needs an executor.
    pub fn set_jobs(&self, jobs: Option<u32>, options: &mut run::Options) -> Result<()> {
        let Some(jobs) = jobs else { return Ok(()) };
        if jobs == 0 && !self.is_given() {
            return Err(Diag::new(
                "--jobs 0 leaves all work to other machines, and there are none",
            )
            .help("name a server with --remote-executor URL, or give --jobs another number"));
        }
        options.jobs = jobs.max(1) as usize;
        options.only_elsewhere = jobs == 0;
        Ok(())
    }

    pub fn is_given(&self) -> bool {
        self.remote_executor.is_some()
    }

    fn asked(&self) -> Option<Execution> {
        let seconds =
            |given: Option<u32>, default| Duration::from_secs(given.unwrap_or(default).into());
        Some(Execution {
            url: self.remote_executor.clone()?,
            jobs: self.remote_jobs.unwrap_or(8) as usize,
            cores: self.remote_cores.unwrap_or(1),
            properties: self.remote_properties.clone(),
            timeout: seconds(self.remote_execution_timeout, 600),
            patience: seconds(self.remote_queue_timeout, 60),
            // This link leads to the running program, even if its file was replaced.
            program: self.remote_worker.clone().unwrap_or_else(|| "/proc/self/exe".into()),
        })
    }
}

/// How to reach an endpoint.
#[derive(clap::Args, Clone, Default)]
pub struct Access {
    /// The name of the cache at the URL, if it has several
    #[arg(long, value_name = "NAME")]
    pub remote_instance_name: Option<String>,

    /// A header for all requests, as NAME=VALUE. NAME=@FILE reads a secret from a file,
    /// NAME=env:VARIABLE from a variable
    #[arg(long = "remote-header", value_name = "NAME=VALUE")]
    pub remote_headers: Vec<String>,

    /// A program that prints headers, like Bazel's credential helpers: PROGRAM for all servers,
    /// HOST=PROGRAM or *.DOMAIN=PROGRAM for some; may be repeated
    #[arg(long = "credential-helper", value_name = "[HOST=]PROGRAM")]
    pub credential_helpers: Vec<String>,

    /// The seconds that one request may take [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub remote_timeout: Option<u32>,

    /// How often to repeat a request if the server is busy or gone [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub remote_retries: Option<u32>,

    /// The authority that signed the server's certificate, as PEM [default: the system's
    /// authorities]
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,

    /// The client's own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_client_key")]
    pub tls_client_certificate: Option<PathBuf>,

    /// The private key of the client's certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_client_certificate")]
    pub tls_client_key: Option<PathBuf>,
}

impl RemoteArgs {
    pub fn is_given(&self) -> bool {
        self.remote_cache.is_some()
    }

    /// Connects to the remote cache and the executor that the options name. None if they must be
    /// usable and are not, which is printed.
    pub fn open_for(&self, execution: &ExecutionArgs, dry: bool) -> Result<Option<Connection>> {
        let execution = execution.asked();
        let url = self.remote_cache.as_ref().or(execution.as_ref().map(|e| &e.url)).cloned();
        match url {
            Some(url) => client::open(&url, self, execution, dry),
            None => {
                client::check_unused(&self.access)?;
                Ok(Some(Connection::default()))
            }
        }
    }
}

/// A connection to a remote cache, or none.
#[derive(Default)]
pub struct Connection {
    client: Option<Arc<client::Client>>,
    executes: bool,
}

impl Connection {
    pub fn cache(&self) -> Option<Arc<dyn Remote>> {
        self.client.clone().map(|client| client as Arc<dyn Remote>)
    }

    /// Workers on other machines, if the options ask for them.
    pub fn elsewhere(&self) -> Option<Arc<dyn Elsewhere>> {
        let client = self.client.clone().filter(|_| self.executes);
        client.map(|client| client as Arc<dyn Elsewhere>)
    }

    /// Sets the recipe by which workers make the plan, and the answers of this machine's compilers.
    pub fn set_recipe(&self, recipe: Vec<u8>, answers: BTreeMap<Digest, Vec<u8>>) {
        if let Some(client) = &self.client {
            client.set_recipe(recipe, answers);
        }
    }

    /// Waits until results are uploaded, closes the connection, and prints a summary.
    pub fn end(&self, stop: &Stop, quiet: bool) {
        if let Some(client) = &self.client {
            client::end(client, stop, quiet);
        }
    }
}

#[cfg(feature = "remote")]
pub mod client {
    use std::path::Path;
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::time::Duration;

    use litmake::diag::{Diag, Result};
    use litmake::engine::remote::Remote;
    use litmake::file;
    use litmake::plain;
    pub use litmake::remote::Client;
    use litmake::remote::{
        self, Address, Header, Helper, Options, Tls, examine as examine_endpoint,
    };
    use litmake::stop::Stop;
    use litmake::toolchain::process;

    use super::{Access, Connection, Execution, RemoteArgs};
    use crate::cli::common::show_size;

    /// The largest size of a certificate, key or token.
    const MAX_SECRET: u64 = 1 << 20;

    /// The options of an endpoint.
    pub fn options(url: &str, access: &Access) -> Result<Options> {
        let address = Address::parse(url).map_err(Diag::new)?;
        let mut out = Options::new(address);
        out.instance = access.remote_instance_name.clone().unwrap_or_default();
        if let Some(seconds) = access.remote_timeout {
            out.timeout = Duration::from_secs(seconds.into());
        }
        if let Some(retries) = access.remote_retries {
            out.retries = retries;
        }
        let read =
            |path: &str| file::read_text(Path::new(path), MAX_SECRET).map_err(|e| e.to_string());
        for text in &access.remote_headers {
            let header = Header::parse(text, read, |name| std::env::var(name).ok());
            out.headers.push(header.map_err(Diag::new)?);
        }
        for text in &access.credential_helpers {
            let helper = Helper::parse(text, process::find);
            out.helpers.push(helper.map_err(Diag::new)?);
        }
        let pem = |path: &std::path::PathBuf| {
            file::read(path, MAX_SECRET)
                .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))
        };
        let client = access.tls_client_certificate.as_ref().zip(access.tls_client_key.as_ref());
        out.tls = Tls {
            authority: access.tls_certificate.as_ref().map(pem).transpose()?,
            client: client.map(|(c, k)| Ok::<_, Box<Diag>>((pem(c)?, pem(k)?))).transpose()?,
        };
        if !out.address.encrypted && (out.tls.authority.is_some() || out.tls.client.is_some()) {
            return Err(Diag::new("certificates are of use with grpcs:// alone")
                .help("write grpcs:// where the server encrypts"));
        }
        Ok(out)
    }

    fn execution(asked: Execution) -> Result<remote::Execution> {
        let address = Address::parse(&asked.url).map_err(Diag::new)?;
        if !asked.program.is_file() {
            let shown = asked.program.display();
            return Err(Diag::new(format!("--remote-worker: {shown} is no file")));
        }
        Ok(remote::Execution {
            address,
            program: asked.program,
            cores: asked.cores,
            slots: asked.jobs,
            timeout: asked.timeout,
            patience: asked.patience,
            properties: asked.properties,
        })
    }

    pub fn open(
        url: &str,
        args: &RemoteArgs,
        asked: Option<Execution>,
        dry: bool,
    ) -> Result<Option<Connection>> {
        let mut options = options(url, &args.access)?;
        options.execution = asked.map(execution).transpose()?;
        let executes = options.execution.is_some();
        if dry {
            return Ok(Some(Connection::default()));
        }
        options.reads = args.remote_accept_cached;
        options.writes = args.remote_upload_local_results;
        let shown = options.address.to_string();
        let client = Client::start(options)
            .map_err(|e| Diag::new(format!("cannot use the remote cache {shown}: {e}")))?;
        let usable = || {
            client.check().and_then(|()| if executes { client.check_execution() } else { Ok(()) })
        };
        if !args.remote_local_fallback && usable().is_err() {
            for notice in client.take_notices() {
                eprintln!("error: {}", plain::line(&notice));
            }
            let what = if executes { "remote execution" } else { "the remote cache" };
            eprintln!(
                "error: {what} cannot be used, and --remote-local-fallback=false asks for it"
            );
            return Ok(None);
        }
        Ok(Some(Connection { client: Some(Arc::new(client)), executes }))
    }

    /// An error if there are options for an endpoint, but no endpoint.
    pub fn check_unused(access: &Access) -> Result<()> {
        let Access {
            remote_instance_name,
            remote_headers,
            credential_helpers,
            tls_certificate,
            tls_client_key,
            ..
        } = access;
        let used = remote_instance_name.is_some()
            || !remote_headers.is_empty()
            || !credential_helpers.is_empty()
            || tls_certificate.is_some()
            || tls_client_key.is_some();
        match used {
            true => Err(Diag::new("there is no remote cache for --remote-... and --tls-...")
                .help("name one with --remote-cache URL")),
            false => Ok(()),
        }
    }

    /// Prints what an endpoint can do.
    pub fn examine(url: &str, access: &Access, writes: bool) -> Result<ExitCode> {
        let mut options = options(url, access)?;
        options.writes = writes;
        println!("remote cache {}:", options.address);
        let findings = match examine_endpoint(&options) {
            Ok(findings) => findings,
            Err(trouble) => {
                println!("  missing  {}", plain::line(&trouble.words));
                if let Some(help) = trouble.help(&options) {
                    println!("  help     {help}");
                }
                return Ok(ExitCode::from(3));
            }
        };
        for finding in &findings {
            let word = if finding.good { "good   " } else { "missing" };
            println!("  {word}  {}", plain::line(&finding.text));
        }
        Ok(if findings.iter().all(|f| f.good) { ExitCode::SUCCESS } else { ExitCode::from(3) })
    }

    pub fn end(client: &Client, stop: &Stop, quiet: bool) {
        let pending = client.pending();
        if pending > 0 && !quiet {
            eprintln!("litmake: {pending} packets are still to be uploaded; Ctrl-C leaves them");
        }
        let tally = client.finish(stop);
        for notice in client.take_notices() {
            eprintln!("litmake: {}", plain::line(&notice));
        }
        let at = client.address();
        if !quiet {
            eprintln!(
                "remote cache {at}: {} of {} packets came ({}), {} were uploaded ({})",
                tally.fetched,
                tally.asked,
                show_size(tally.fetched_bytes),
                tally.uploaded,
                show_size(tally.uploaded_bytes)
            );
        }
        if tally.jobs > 0 && !quiet {
            eprintln!(
                "remote execution: {} jobs were done elsewhere, which gave {} packets ({})",
                tally.jobs,
                tally.executed,
                show_size(tally.executed_bytes)
            );
        }
        if tally.broken > 0 {
            eprintln!(
                "warning: remote cache {at}: {} packets were not what was stored; they were computed here",
                tally.broken
            );
        }
        if tally.lost > 0 {
            eprintln!(
                "warning: remote cache {at}: {} packets were not uploaded; their results are in the local cache",
                tally.lost
            );
        }
    }
}

#[cfg(not(feature = "remote"))]
pub mod client {
    use std::process::ExitCode;

    use litmake::diag::{Diag, Result};
    use litmake::engine::elsewhere::{self, Elsewhere, Order, Tally};
    use litmake::engine::remote::{Remote, Taker};
    use litmake::stop::Stop;

    use super::{Access, Connection, Execution, RemoteArgs};

    /// Has no value: without the feature there is no client.
    pub enum Client {}

    impl Remote for Client {
        fn ask(&self, _: Vec<litmake::base::digest::Digest>, _: Taker) {
            match *self {}
        }

        fn offer(&self, _: litmake::base::digest::Digest, _: Vec<u8>) {
            match *self {}
        }

        fn refuse(&self, _: litmake::base::digest::Digest, _: &str) {
            match *self {}
        }

        fn take_notices(&self) -> Vec<String> {
            match *self {}
        }
    }

    impl Elsewhere for Client {
        fn slots(&self) -> usize {
            match *self {}
        }

        fn is_open(&self) -> bool {
            match *self {}
        }

        fn execute(&self, _: u64, _: Order, _: elsewhere::Taker) {
            match *self {}
        }

        fn recall(&self, _: u64) -> bool {
            match *self {}
        }

        fn tally(&self) -> Tally {
            match *self {}
        }
    }

    impl Client {
        pub fn set_recipe(&self, _: Vec<u8>, _: super::BTreeMap<super::Digest, Vec<u8>>) {
            match *self {}
        }
    }

    pub fn without() -> Box<Diag> {
        Diag::new("this litmake is built without remote caches")
            .help("build one that has them with `cargo build --release --features remote`")
    }

    pub fn open(
        _: &str,
        _: &RemoteArgs,
        _: Option<Execution>,
        _: bool,
    ) -> Result<Option<Connection>> {
        Err(without())
    }

    pub fn check_unused(access: &Access) -> Result<()> {
        let is_unused = access.remote_headers.is_empty()
            && access.credential_helpers.is_empty()
            && access.remote_instance_name.is_none();
        if is_unused { Ok(()) } else { Err(without()) }
    }

    pub fn examine(_: &str, _: &Access, _: bool) -> Result<ExitCode> {
        Err(without())
    }

    pub fn end(client: &Client, _: &Stop, _: bool) {
        match *client {}
    }
}
