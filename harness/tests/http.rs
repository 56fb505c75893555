//! The HTTP transport against servers in memory, over TLS, and against raw sockets that lie.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use mcp_conform::{
    trace::{Body, DEFAULT_BUDGET, Event, Exchange, ExchangeEnd, Intent, Recorder, Secrets},
    transport::{Connector, Endpoint, EndpointError, HttpCall, HttpClient, Limits, TlsOptions},
    wire,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex},
    net::TcpListener,
    time::Instant,
};
use tokio_rustls::TlsAcceptor;
use url::Url;

const PATIENCE: Duration = Duration::from_secs(20);

fn recorder() -> Recorder {
    let secrets = Secrets::new([("TOKEN".to_owned(), "s3cret-token".to_owned())]);
    Recorder::new(Arc::new(secrets), wire::Limits::default(), DEFAULT_BUDGET)
}

fn endpoint(url: &str) -> Endpoint {
    Endpoint::new(Url::parse(url).unwrap(), &TlsOptions::default()).unwrap()
}

/// A client whose every connection is served by `serve` in memory.
fn client<F, S>(limits: Limits, serve: F) -> HttpClient
where
    F: Fn(DuplexStream) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let open = move || {
        let (ours, theirs) = duplex(1024);
        tokio::spawn(serve(theirs));
        Box::pin(ours) as _
    };
    let mut endpoint = endpoint("http://server.test/mcp?a=b");
    endpoint.connector = Connector::Memory(Arc::new(open));
    HttpClient::new(endpoint, recorder(), limits)
}

/// A server that reads the head of a request, writes bytes and then holds the connection.
fn answering(limits: Limits, answer: &'static [u8], hold: bool) -> HttpClient {
    client(limits, move |mut io| async move {
        head(&mut io).await;
        let _ = io.write_all(answer).await;
        if hold {
            std::future::pending::<()>().await;
        }
    })
}

async fn head(io: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match io.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => break,
        }
    }
    bytes
}

fn get() -> HttpCall {
    HttpCall { method: "GET".to_owned(), ..HttpCall::default() }
}

fn post(body: &str) -> HttpCall {
    HttpCall { method: "POST".to_owned(), body: Bytes::from(body.to_owned()), ..HttpCall::default() }
}

async fn wait<T>(client: &HttpClient, matches: impl Fn(&Body) -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(3600);
    client.recorder().wait(0, deadline, |event| matches(&event.body)).await.expect("the event comes")
}

async fn end(client: &HttpClient, of: Exchange) -> ExchangeEnd {
    let ended = |body: &Body| match body {
        Body::ExchangeEnded { exchange, end } if *exchange == of => Some(end.clone()),
        _ => None,
    };
    wait(client, ended).await
}

async fn run(client: &HttpClient, call: HttpCall) -> ExchangeEnd {
    let exchange = client.start(call);
    end(client, exchange).await
}

/// The events in short.
fn story(client: &HttpClient) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let short = |event: &Arc<Event>| match &event.body {
        Body::HttpRequest(request) => format!("{} {} {}", request.method, request.target, text(&request.body)),
        Body::HttpResponse(response) => format!("{}", response.status),
        Body::HttpBody(body) => format!("body {} cut {}", text(&body.raw), body.cut),
        Body::Sse(sse) => {
            let data = sse.data.as_ref().map(|data| text(data));
            format!("sse {:?} {:?} {data:?} unterminated {}", sse.event, sse.id, sse.unterminated)
        }
        Body::SseComment { text: comment, .. } => format!("comment {}", text(comment)),
        Body::SseDefect { message, .. } => format!("defect {message}"),
        Body::ExchangeEnded { end, .. } => format!("{end:?}"),
        other => format!("{other:?}"),
    };
    client.recorder().events(0).iter().map(short).collect()
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut lines = format!("{} {}\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        lines.push_str(&format!("{name}={}\n", value.as_bytes().escape_ascii()));
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    lines.push_str(&String::from_utf8_lossy(&body));
    Ok(Response::builder().header("X-Twice", "1").header("X-Twice", "2").body(Full::new(Bytes::from(lines))).unwrap())
}

async fn hyper_server(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let _ = http1::Builder::new().serve_connection(TokioIo::new(io), service_fn(echo)).await;
}

async fn body(client: &HttpClient) -> String {
    wait(client, |body| match body {
        Body::HttpBody(body) => Some(String::from_utf8_lossy(&body.raw).into_owned()),
        _ => None,
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn only_what_is_given_goes_out() {
    let client = client(Limits::default(), hyper_server);
    let call = HttpCall {
        headers: vec![
            ("MCP-Protocol-Version".to_owned(), Bytes::from_static(b"2025-11-25")),
            ("x-odd".to_owned(), Bytes::from_static(b"\xff\x80")),
            ("x-odd".to_owned(), Bytes::from_static(b"")),
        ],
        ..post("{}")
    };
    assert_eq!(run(&client, call).await, ExchangeEnd::Complete);
    let agent = concat!("mcp-conform/", env!("CARGO_PKG_VERSION"));
    let expected = format!(
        "POST /mcp?a=b\nhost=server.test\nuser-agent={agent}\nmcp-protocol-version=2025-11-25\nx-odd=\\xff\\x80\n\
         x-odd=\ncontent-length=2\n{{}}"
    );
    assert_eq!(body(&client).await, expected);
    let events = client.recorder().events(0);
    let Body::HttpRequest(request) = &events[0].body else { panic!("{:?}", events[0]) };
    assert_eq!(request.headers.0[2].0, "MCP-Protocol-Version", "as it stood");
    assert!(request.frame.is_some());
    let Body::HttpResponse(response) = &events[1].body else { panic!("{:?}", events[1]) };
    assert_eq!(response.headers.all("X-Twice").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_users_headers_are_added_and_kept_out_of_the_trace() {
    let served = client(Limits::default(), hyper_server);
    let mut endpoint = served.endpoint().clone();
    endpoint.headers = vec![("authorization".to_owned(), "Bearer s3cret-token".to_owned())];
    let client = HttpClient::new(endpoint, recorder(), Limits::default());
    run(&client, get()).await;
    let shown = body(&client).await;
    assert!(shown.contains("authorization=Bearer <secret:TOKEN>"), "{shown}");
    assert!(!format!("{:?}", client.recorder().events(0)).contains("s3cret-token"));

    let own = vec![("Authorization".to_owned(), Bytes::from_static(b"other"))];
    run(&client, HttpCall { headers: own, ..get() }).await;
    run(&client.anonymous(), get()).await;
    let of = |event: &Arc<Event>| match &event.body {
        Body::HttpBody(body) => Some(String::from_utf8_lossy(&body.raw).matches("authorization=").count()),
        _ => None,
    };
    let counts: Vec<usize> = client.recorder().events(0).iter().filter_map(of).collect();
    assert_eq!(counts, [1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn any_method_and_path() {
    let client = client(Limits::default(), hyper_server);
    let call = HttpCall { method: "PURGE".to_owned(), path: Some("/x".to_owned()), ..get() };
    run(&client, call).await;
    assert!(body(&client).await.starts_with("PURGE /x\n"));
    for call in [
        HttpCall { method: "GET /x HTTP/1.1\r\nx:".to_owned(), ..get() },
        HttpCall { path: Some("/a b".to_owned()), ..get() },
        HttpCall { headers: vec![("a".to_owned(), Bytes::from_static(b"b\r\nc: d"))], ..get() },
    ] {
        let ExchangeEnd::Failed(why) = run(&client, call).await else { panic!("it was sent") };
        assert!(why.contains("a raw request can send it"), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_replaces_what_would_be_added() {
    let client = client(Limits::default(), hyper_server);
    let given = [("Host", "other.test"), ("User-Agent", "x"), ("Content-Length", "2")];
    let headers = given.map(|(name, value)| (name.to_owned(), Bytes::from_static(value.as_bytes())));
    run(&client, HttpCall { headers: headers.to_vec(), ..post("{}") }).await;
    assert_eq!(body(&client).await, "POST /mcp?a=b\nhost=other.test\nuser-agent=x\ncontent-length=2\n{}");
}

#[tokio::test(start_paused = true)]
async fn a_chunked_request_is_chunked() {
    let client = client(Limits::default(), hyper_server);
    let headers = vec![("transfer-encoding".to_owned(), Bytes::from_static(b"chunked"))];
    run(&client, HttpCall { headers, ..post("{\"a\":1}") }).await;
    let body = body(&client).await;
    assert!(body.ends_with("\ntransfer-encoding=chunked\n{\"a\":1}"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn an_accepted_notification_is_an_empty_body() {
    let client = answering(Limits::default(), b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", true);
    assert_eq!(run(&client, post("{}")).await, ExchangeEnd::Complete);
    assert_eq!(story(&client), ["POST /mcp?a=b {}", "202", "body  cut 0", "Complete"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_is_told_event_by_event() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\n\r\n: hi\n\nid: 7\ndata:\n\n\
        event: message\ndata: {\"a\":\ndata: 1}\n\nretry: soon\n\nunknown: x\ndata: half";
    let client = answering(Limits::default(), answer, false);
    assert_eq!(run(&client, get()).await, ExchangeEnd::Complete);
    let story = story(&client);
    assert_eq!(story[2], "comment hi");
    assert_eq!(story[3], "sse None Some(\"7\") Some(\"\") unterminated false");
    assert_eq!(story[4], "sse Some(\"message\") None Some(\"{\\\"a\\\":\\n1}\") unterminated false");
    assert!(story[5].starts_with("defect "), "{story:?}");
    assert_eq!(story[story.len() - 2], "sse None None Some(\"half\") unterminated true");
    assert_eq!(story[story.len() - 1], "Complete");
}

#[tokio::test(start_paused = true)]
async fn an_endless_event_stream_lives_until_it_is_closed() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {}\n\ndata: ha";
    let client = answering(Limits::default(), answer, true);
    let (one, two) = (client.start(get()), client.start(get()));
    let long = Instant::now() + Duration::from_secs(24 * 3600);
    let ended = |event: &Arc<Event>| matches!(event.body, Body::ExchangeEnded { .. }).then_some(());
    client.recorder().wait(0, long, ended).await.unwrap_err();
    assert_eq!(client.open(), [one, two]);
    client.close(one);
    assert_eq!(end(&client, one).await, ExchangeEnd::ClosedByUs);
    assert_eq!(client.open(), [two]);
    client.end().await;
    let story = story(&client);
    assert_eq!(story[story.len() - 2..], ["ClosedByUs", "Drained"]);
    assert!(!story.iter().any(|line| line.contains("unterminated true")), "we tore it, not the server: {story:?}");
}

#[tokio::test(start_paused = true)]
async fn the_server_sees_that_an_exchange_was_closed() {
    let (told, mut closed) = tokio::sync::mpsc::unbounded_channel();
    let client = client(Limits::default(), move |mut io| {
        let told = told.clone();
        async move {
            head(&mut io).await;
            let _ = told.send(false);
            let _ = told.send(io.read_u8().await.is_err());
        }
    });
    let exchange = client.start(get());
    assert_eq!(closed.recv().await, Some(false));
    client.close(exchange);
    assert_eq!(closed.recv().await, Some(true));
    drop(client.clone());
    client.start(get());
    assert_eq!(closed.recv().await, Some(false));
    drop(client);
    assert_eq!(closed.recv().await, Some(true), "the last client closes what is open");
}

#[tokio::test(start_paused = true)]
async fn liars_and_drippers_end_bounded_and_are_named() {
    let table: &[(&'static [u8], bool, &str)] = &[
        (b"", false, "Failed: before an answer came"),
        (b"", true, "Limit: no answer within 300s"),
        (b"HTTP/1.1 200 OK\r\nx: y", true, "Limit: no answer within 300s"),
        (b"SSH-2.0-OpenSSH\r\n", false, "Failed: no HTTP/1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":", false, "Failed: after 8 of 100 body bytes; the body began with `{"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":", true, "Limit: no more of the body came within 60s"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", false, "Failed: before the last chunk"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\n", false, "Failed: before the last chunk"),
    ];
    for (answer, hold, expected) in table {
        let client = answering(Limits::default(), answer, *hold);
        let end = match run(&client, get()).await {
            ExchangeEnd::Failed(why) => format!("Failed: {why}"),
            ExchangeEnd::Limit(why) => format!("Limit: {why}"),
            end => format!("{end:?}"),
        };
        let (kind, text) = expected.split_once(": ").unwrap();
        assert!(end.starts_with(kind) && end.contains(text), "{}: {end}", answer.escape_ascii());
        let whole = client.recorder().events(0).iter().any(|event| matches!(event.body, Body::HttpBody(_)));
        assert!(!whole, "half a body is no body");
    }
}

#[tokio::test(start_paused = true)]
async fn a_torn_body_is_quoted_without_secrets() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nyour token s3cret-token is";
    let client = answering(Limits::default(), answer, false);
    let ExchangeEnd::Failed(why) = run(&client, get()).await else { panic!("whole") };
    assert!(why.contains("`your token <secret:TOKEN> is`"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_drip_ends() {
    let client = client(Limits::default(), |mut io| async move {
        head(&mut io).await;
        let _ = io.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while io.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
    });
    let since = Instant::now();
    let ExchangeEnd::Limit(why) = run(&client, get()).await else { panic!("no limit") };
    assert!(why.contains("did not end within 300s"), "{why}");
    assert!(since.elapsed() < Duration::from_secs(310));
}

#[tokio::test(start_paused = true)]
async fn floods_end_bounded() {
    let limits = Limits {
        wire: wire::Limits { bytes: 10_000, ..wire::Limits::default() },
        dropped: 100_000,
        stream: 100_000,
        ..Limits::default()
    };
    for (start, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "a body of more than"),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", "an event stream of more than"),
    ] {
        let client = client(limits, move |mut io| async move {
            head(&mut io).await;
            let _ = io.write_all(start.as_bytes()).await;
            while io.write_all(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxx\n").await.is_ok() {}
        });
        let ExchangeEnd::Limit(why) = run(&client, get()).await else { panic!("no limit") };
        assert!(why.contains(expected), "{why}");
    }
    // A body that is too large but ends is told, with what was cut.
    let client = client(limits, move |mut io| async move {
        head(&mut io).await;
        let _ = io.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        let _ = io.write_all(&[b'1'; 15_000]).await;
    });
    assert_eq!(run(&client, get()).await, ExchangeEnd::Complete);
    let cut =
        wait(&client, |body| if let Body::HttpBody(body) = body { Some((body.raw.len(), body.cut)) } else { None });
    assert_eq!(cut.await, (10_000, 5_000));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_the_request() {
    let deaf = client(Limits::default(), |io| async move {
        std::future::pending::<()>().await;
        drop(io);
    });
    let since = Instant::now();
    let ExchangeEnd::Failed(why) = run(&deaf, post(&"x".repeat(100_000))).await else { panic!("sent") };
    assert!(why.contains("did not read the request"), "{why}");
    assert!(since.elapsed() < Duration::from_secs(30));

    let early = client(Limits::default(), |mut io| async move {
        head(&mut io).await;
        let _ = io.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await;
        std::future::pending::<()>().await;
    });
    let since = Instant::now();
    assert_eq!(run(&early, post(&"x".repeat(100_000))).await, ExchangeEnd::Complete);
    assert!(since.elapsed() < Duration::from_secs(1), "the answer is read while the request is written");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed() {
    let answer = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://elsewhere.test/\r\ncontent-length: 0\r\n\r\n";
    let client = answering(Limits::default(), answer, false);
    run(&client, get()).await;
    assert_eq!(story(&client), ["GET /mcp?a=b ", "307", "body  cut 0", "Complete"]);
}

#[tokio::test(start_paused = true)]
async fn raw_bytes_go_out_as_they_stand_and_in_pieces() {
    let (told, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let client = client(Limits::default(), move |mut io| {
        let told = told.clone();
        async move {
            let (mut buffer, mut all) = ([0; 256], Vec::new());
            while !all.ends_with(b"\n\n") {
                let count = io.read(&mut buffer).await.unwrap();
                all.extend_from_slice(&buffer[..count]);
                told.send(buffer[..count].to_vec()).unwrap();
            }
            let two = b"HTTP/1.1 400 Bad Request\r\nX-Case: Kept\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n";
            io.write_all(two).await.unwrap();
        }
    });
    let bytes = Bytes::from_static(b"POST /mcp HTTP/1.1\nMCP-Protocol-VERSION : x\nHost:\n\n");
    let exchange = client.raw(bytes.clone(), &[4, 9]);
    assert_eq!(end(&client, exchange).await, ExchangeEnd::Complete);
    let pieces = [seen.recv().await.unwrap(), seen.recv().await.unwrap(), seen.recv().await.unwrap()];
    assert_eq!(pieces, [b"POST".to_vec(), b" /mcp".to_vec(), bytes[9..].to_vec()]);
    let events = client.recorder().events(0);
    let Body::HttpRequest(request) = &events[0].body else { panic!("{:?}", events[0]) };
    assert!(request.raw && request.frame.is_none() && request.body == bytes);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "POST /mcp HTTP/1.1"));
    assert_eq!(request.intent, Intent { wrong: vec![String::new()] });
    let Body::HttpResponse(response) = &events[1].body else { panic!("{:?}", events[1]) };
    assert_eq!(response.headers.0[0], ("X-Case".to_owned(), Bytes::from_static(b"Kept")));
    assert_eq!(events.len(), 4, "the first answer only");
}

#[tokio::test]
async fn what_cannot_be_reached_says_so() {
    // A port that was free a moment ago refuses.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let refused = HttpClient::new(endpoint(&format!("http://127.0.0.1:{port}/mcp")), recorder(), Limits::default());
    let ExchangeEnd::Failed(why) = run(&refused, get()).await else { panic!("answered") };
    assert_eq!(why, format!("could not connect to 127.0.0.1:{port}: connection refused"));

    let unknown = HttpClient::new(endpoint("http://no-such-host.invalid/mcp"), recorder(), Limits::default());
    let ExchangeEnd::Failed(why) = run(&unknown, get()).await else { panic!("answered") };
    assert!(why.starts_with("could not resolve `no-such-host.invalid`"), "{why}");

    let error = Endpoint::new(Url::parse("ftp://host/").unwrap(), &TlsOptions::default()).unwrap_err();
    assert!(matches!(error, EndpointError::Scheme(_)));
}

#[tokio::test]
async fn localhost_is_tried_on_both_address_families() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address).await else { continue };
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (io, _) = listener.accept().await.unwrap();
            hyper_server(io).await;
        });
        let client = HttpClient::new(endpoint(&format!("http://localhost:{port}/")), recorder(), Limits::default());
        assert_eq!(run(&client, get()).await, ExchangeEnd::Complete, "{address}");
        assert!(body(&client).await.contains(&format!("host=localhost:{port}\n")));
    }
}

/// A TLS server on loopback; its port and the file of its certificate.
async fn tls_server() -> (u16, tempfile::TempDir, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(io) = acceptor.accept(io).await {
                    hyper_server(io).await;
                }
            });
        }
    });
    (port, folder, file)
}

#[tokio::test]
async fn tls_trusts_whom_the_user_trusts() {
    let (port, _folder, file) = tls_server().await;
    let over = |tls: TlsOptions, host: &str| {
        let url = Url::parse(&format!("https://{host}:{port}/mcp")).unwrap();
        HttpClient::new(Endpoint::new(url, &tls).unwrap(), recorder(), Limits::default())
    };
    let given = TlsOptions { ca_file: Some(file), insecure: false };
    let client = over(given.clone(), "localhost");
    assert_eq!(run(&client, post("{}")).await, ExchangeEnd::Complete);
    assert!(body(&client).await.ends_with("{}"));
    let raw = client.raw(Bytes::from_static(b"GET /raw HTTP/1.1\r\nhost: x\r\n\r\n"), &[]);
    assert_eq!(end(&client, raw).await, ExchangeEnd::Complete);

    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    assert_eq!(run(&over(insecure, "127.0.0.1"), get()).await, ExchangeEnd::Complete);
    for (tls, host) in [(TlsOptions::default(), "localhost"), (given, "127.0.0.1")] {
        let ExchangeEnd::Failed(why) = run(&over(tls, host), get()).await else { panic!("trusted") };
        assert!(why.starts_with("the TLS handshake failed: "), "{why}");
    }
}

#[tokio::test]
async fn a_plain_server_behind_an_https_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (io, _) = listener.accept().await.unwrap();
        hyper_server(io).await;
    });
    let client = HttpClient::new(endpoint(&format!("https://127.0.0.1:{port}/")), recorder(), Limits::default());
    let ended = tokio::time::timeout(PATIENCE, run(&client, get())).await.unwrap();
    assert!(matches!(&ended, ExchangeEnd::Failed(why) if why.starts_with("the TLS handshake failed")), "{ended:?}");
}

#[test]
fn bad_certificate_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    let fail = |file: PathBuf| {
        let tls = TlsOptions { ca_file: Some(file), insecure: false };
        Endpoint::new(Url::parse("https://host/").unwrap(), &tls).unwrap_err().to_string()
    };
    assert!(fail(empty).contains("holds no certificate"));
    assert!(fail(folder.path().join("absent.pem")).contains("cannot be read"));
}
