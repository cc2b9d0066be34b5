//! Heads of requests over HTTP/1: where they lead, how long their bodies are, and how large they are themselves.

use crate::hostile::case::Outcome;
use crate::hostile::expect::{holds, same, short};
use crate::hostile::peer::{Answer, ask, request};
use crate::hostile::scene::Scene;

async fn sent(scene: &Scene, head: &str) -> Result<Answer, String> {
    ask(scene.served.http, format!("{head}\r\nconnection: close\r\n\r\n")).await
}

/// How many activations of the hostile tenant there are on record.
async fn records(scene: &Scene) -> Result<u64, String> {
    scene.count("records").await
}

/// Row 106.
pub async fn hosts(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let right = [
        "GET /hello HTTP/1.1\r\nhost: hostile.example",
        "GET /hello HTTP/1.1\r\nhost: hostile.example:8080",
        "GET /hello HTTP/1.1\r\nhost: hostile.example.",
        "GET /hello HTTP/1.1\r\nhost: HOSTILE.EXAMPLE",
        "GET http://hostile.example/hello HTTP/1.1\r\nhost: hostile.example",
        "GET http://hostile.example/hello HTTP/1.1",
    ];
    for head in right {
        let answer = sent(scene, head).await?;
        same(head, &answer.status(), &Some(200))?;
        let id = answer.header("latent-activation-id").unwrap_or_default();
        scene.record(&id).await.map_err(|wrong| format!("{head} led elsewhere: {wrong}"))?;
    }
    let before = records(scene).await?;
    let wrong = [
        ("GET /hello HTTP/1.1", 400),
        ("GET /hello HTTP/1.0", 400),
        ("GET /hello HTTP/1.1\r\nhost:", 400),
        ("GET /hello HTTP/1.1\r\nhost: hostile.example\r\nhost: hostile.example", 400),
        ("GET /hello HTTP/1.1\r\nhost: hostile.example\r\nhost: other.example", 400),
        ("GET /hello HTTP/1.1\r\nhost: user@hostile.example", 400),
        ("GET /hello HTTP/1.1\r\nhost: hostile.example, other.example", 400),
        ("GET http://hostile.example/hello HTTP/1.1\r\nhost: other.example", 400),
        ("GET http://user@hostile.example/hello HTTP/1.1", 400),
        ("CONNECT hostile.example:443 HTTP/1.1\r\nhost: hostile.example", 400),
        ("GET * HTTP/1.1\r\nhost: hostile.example", 400),
        ("GET /a/../hello HTTP/1.1\r\nhost: hostile.example", 400),
        ("GET /hello HTTP/1.1\r\nhost: other.example", 404),
        ("GET /hello HTTP/1.1\r\nhost: example", 404),
        ("GET /hello HTTP/1.1\r\nhost: 127.0.0.1", 404),
        ("GET /hello HTTP/1.1\r\nhost: [::1]:80", 404),
        ("GET /hello HTTP/1.1\r\nhost: a.hostile.example", 404),
    ];
    for (head, status) in wrong {
        same(head, &sent(scene, head).await?.status(), &Some(status))?;
    }
    same("activations that came of them", &records(scene).await?, &before)?;
    Ok(format!("{} lead to their route, {} nowhere", right.len(), wrong.len()))
}

/// Row 107.
pub async fn lengths(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let before = records(scene).await?;
    let heads = [
        "content-length: 4\r\ncontent-length: 5\r\n",
        "content-length: 4, 5\r\n",
        "content-length: -1\r\n",
        "content-length: +4\r\n",
        "content-length: 0x4\r\n",
        "content-length: 99999999999999999999\r\n",
        "transfer-encoding: gzip\r\n",
        "transfer-encoding: chunked, gzip\r\n",
        "transfer-encoding: chunkedx\r\n",
    ];
    for lines in heads {
        let smuggled = request("POST", "/count", lines) + "0\r\n\r\n" + &request("GET", "/hello", "");
        let answer = ask(scene.served.http, smuggled).await?;
        holds(&format!("{lines:?}: {}", short(&answer.text())), matches!(answer.status(), None | Some(400)))?;
        same(lines, &answer.answers(), &usize::from(answer.length > 0))?;
    }
    let huge = ask(scene.served.http, request("POST", "/count", "content-length: 9999999999\r\n")).await?;
    same("a length beyond the bound", &huge.status(), &Some(413))?;
    same("activations that came of them", &records(scene).await?, &before)?;
    let both =
        ["transfer-encoding: chunked\r\ncontent-length: 4\r\n", "content-length: 4\r\ntransfer-encoding: chunked\r\n"];
    for lines in both {
        let smuggled = request("POST", "/count", lines) + "0\r\n\r\n" + &request("GET", "/hello", "");
        let answer = ask(scene.served.http, smuggled).await?;
        holds(&format!("{lines:?} hides no request: {}", short(&answer.text())), !answer.text().contains("hello"))?;
    }
    let sizes = ["+3", "-3", " 3", "0x3", "3g", "", "fffffffffffffffff", "3 3"];
    for size in sizes {
        let body = format!("{size}\r\nabc\r\n0\r\n\r\n{}", request("GET", "/hello", ""));
        let answer =
            ask(scene.served.http, request("POST", "/count", "transfer-encoding: chunked\r\n") + &body).await?;
        let text = answer.text();
        let refused = !text.contains("3 complete") && !text.contains("hello");
        holds(&format!("a chunk of {size:?} ends the connection: {}", short(&text)), refused)?;
    }
    Ok(format!(
        "{} heads and {} sizes of chunks end their connection; no request hides behind one",
        heads.len() + 3,
        sizes.len()
    ))
}

/// Row 108.
pub async fn sizes(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let many = (0..1000).fold(String::new(), |many, at| many + &format!("x-{at}: 1\r\n"));
    let long = format!("x-long: {}\r\n", "a".repeat(64 << 10));
    let path = format!("/{}", "a".repeat(70_000));
    for (what, head) in [
        ("1,000 headers", request("GET", "/hello", &many)),
        ("a header of 64 KiB", request("GET", "/hello", &long)),
        ("a path of 70 KB", request("GET", &path, "")),
    ] {
        for to in [scene.served.http, scene.served.invoke, scene.served.control] {
            let answer = ask(to, &head).await?;
            let refused = answer.status().is_none_or(|status| (400..500).contains(&status));
            holds(&format!("{what} is refused: {}", short(&answer.text())), refused)?;
        }
    }
    let with = |line: &[u8], headers: &[u8]| {
        [line, b" HTTP/1.1\r\nhost: hostile.example\r\nconnection: close\r\n", headers, b"\r\n"].concat()
    };
    let odd: [(&[u8], &[u8]); 13] = [
        (b"GET /hello", b"x-own: \xff\x80 \xc3\r\n"),
        (b"GET /\xff", b""),
        (b"GET /hello?\xff\xfe", b""),
        (b"GET /hello\x00", b""),
        (b"GET /hello a", b""),
        (b"GET /\xc3\xa4", b""),
        (b"G\xffT /hello", b""),
        (b"GET /hello", b"x-\xff: 1\r\n"),
        (b"GET /hello", b"x-own: a\x00b\r\n"),
        (b"GET /hello", b": 1\r\n"),
        (b"GET /hello", b"x-own 1\r\n"),
        (b"GET /hello", b" folded: 1\r\n"),
        (b"\x16\x03\x01\x02\x00", b""),
    ];
    let mut served = 0;
    for (line, headers) in odd {
        let answer = ask(scene.served.http, with(line, headers)).await?;
        let what = format!(
            "{:?} {:?}: {}",
            line.escape_ascii().to_string(),
            headers.escape_ascii().to_string(),
            answer.text()
        );
        let typed = answer.status().is_none_or(|status| status == 200 || (400..500).contains(&status));
        holds(&what, typed)?;
        served += u32::from(answer.status() == Some(200));
    }
    Ok(format!("too large refused on 3 listeners; of {} with odd bytes {served} served, the others 4xx", odd.len()))
}
