//! A browser without a window, driven by the DevTools protocol over two pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The commands of the browser in different distributions.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// Errors of pages, and their messages to the console.
    pub complaints: Vec<String>,
    /// The user's folder, which is removed with the browser.
    _folder: tempfile::TempDir,
}

impl Browser {
    /// A browser with one page; `None`, with a message, if none is installed.
    pub fn start() -> Option<Browser> {
        let here = |name: &&&str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
        };
        let found = NAMES.iter().find(here).ok_or("it is not here");
        let name = litmake_needs::need("chromium", found)?;
        let folder = tempfile::tempdir().unwrap();
        // The browser reads commands from descriptor 3 and answers on descriptor 4.
        let script = format!(
            "exec {name} --headless --remote-debugging-pipe --no-sandbox --disable-gpu --hide-scrollbars \
             --disable-dev-shm-usage --no-first-run --user-data-dir=\"$0\" about:blank \
             3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut out = Browser {
            child,
            to,
            from,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            _folder: folder,
        };
        let target = out.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = out.call("Target.attachToTarget", attach);
        out.session = session["sessionId"].as_str().unwrap().to_string();
        for domain in ["Page", "Runtime", "Log"] {
            out.call(&format!("{domain}.enable"), json!({}));
        }
        Some(out)
    }

    /// Reads one message from the browser.
    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser is gone");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Keeps a page's errors and console messages.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            Some("Runtime.consoleAPICalled") => self.complaints.push(params["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(params["entry"].to_string()),
            _ => {}
        }
    }

    /// Runs a command and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    /// Waits for an event.
    pub fn wait_for(&mut self, event: &str) {
        loop {
            let message = self.read();
            if message["method"] == event {
                return;
            }
            self.note(&message);
        }
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&mut self, path: &Path) {
        let url = format!("file://{}", path.display());
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        self.wait_for("Page.loadEventFired");
    }

    /// The value of an expression in the page, which may be a promise.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Clicks on the first element that a selector finds, and waits for another page if asked to.
    pub fn click(&mut self, selector: &str, leads_away: bool) {
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", params);
        }
        if leads_away {
            self.wait_for("Page.loadEventFired");
        }
    }

    /// Types into the focused element.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Sets the size of the window, and whether the user prefers dark.
    pub fn look(&mut self, width: u32, dark: bool) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
        );
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }

    /// The page as PNG, in base64.
    pub fn picture(&mut self) -> String {
        let answer = self.call(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": true }),
        );
        answer["data"].as_str().unwrap().to_string()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
