//! Every way in which a payload can be wrong, with its path, what was expected and what was found.

use latent_core::contract::{FunctionSignature, ValueType};
use latent_core::error::{PlatformError, PlatformErrorCode};

use super::{case, field, list, names, option, result, takes};
use crate::values::{ValueLimits, decode_params, decode_single_bytes, decode_single_string};

fn refused(signature: &FunctionSignature, json: &[u8]) -> PlatformError {
    match decode_params(signature, json, &ValueLimits::default()) {
        Err(error) => error,
        Ok(values) => panic!("{} was accepted as {values:?}", String::from_utf8_lossy(json)),
    }
}

fn parts(error: &PlatformError) -> [&str; 3] {
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert!(!error.is_retryable());
    let [detail] = error.details() else { panic!("one detail: {error:?}") };
    assert_eq!(detail.kind(), "values.invalid");
    let parts = ["path", "expected", "found"].map(|name| detail.field(name).unwrap());
    assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    parts
}

/// One parameter of this type, in an array: the payload is refused there, for this reason.
#[track_caller]
fn refuses(ty: &ValueType, json: &str, path: &str, expected: &str, found: &str) {
    let error = refused(&takes(&[("it", ty.clone())]), format!("[{json}]").as_bytes());
    let parts = parts(&error);
    assert_eq!((parts[0], parts[2]), (path, found), "{json}: {error}");
    assert!(parts[1].contains(expected), "{json}: {error}");
}

/// The same, anywhere in a payload for these parameters.
#[track_caller]
fn refuses_params(params: &[(&str, ValueType)], json: &str, path: &str, expected: &str, found: &str) {
    let error = refused(&takes(params), json.as_bytes());
    let parts = parts(&error);
    assert_eq!((parts[0], parts[2]), (path, found), "{json}: {error}");
    assert!(parts[1].contains(expected), "{json}: {error}");
}

#[test]
fn a_path_leads_through_every_kind_of_container() {
    let order =
        ValueType::Record(vec![field("by-length", list(ValueType::Tuple(vec![ValueType::Bool, ValueType::U8])))]);
    let params = [("input", ValueType::Record(vec![field("order", order)]))];
    let (expected, found) = ("u8, an integer from 0 to 255", "an integer out of range");
    refuses_params(
        &params,
        r#"[{"order":{"by-length":[[true,1],[true,256]]}}]"#,
        "$[0].order.by-length[1][1]",
        expected,
        found,
    );
    refuses_params(
        &params,
        r#"{"input":{"order":{"by-length":[[true,-1]]}}}"#,
        "$.input.order.by-length[0][1]",
        expected,
        found,
    );
    let shape = ValueType::Variant(vec![case("circle", Some(result(Some(option(option(ValueType::Bool))), None)))]);
    refuses(&shape, r#"{"circle":{"ok":{"some":1}}}"#, "$[0].circle.ok.some", "bool", "a number");
}

#[test]
fn numbers_outside_their_type_are_refused() {
    let range = "an integer out of range";
    let fraction = "a number with a fraction or an exponent, or out of range";
    refuses(&ValueType::U8, "256", "$[0]", "u8, an integer from 0 to 255", range);
    refuses(&ValueType::U8, "-1", "$[0]", "u8", range);
    refuses(&ValueType::S8, "-129", "$[0]", "s8, an integer from -128 to 127", range);
    refuses(&ValueType::S16, "32768", "$[0]", "s16", range);
    refuses(&ValueType::U16, "65536", "$[0]", "u16", range);
    refuses(&ValueType::S32, "2147483648", "$[0]", "s32", range);
    refuses(&ValueType::U32, "4294967296", "$[0]", "u32", range);
    refuses(&ValueType::S64, "9223372036854775808", "$[0]", "s64", range);
    refuses(&ValueType::S64, "\"9223372036854775808\"", "$[0]", "s64", range);
    refuses(&ValueType::U64, "\"18446744073709551616\"", "$[0]", "or a decimal string", range);
    refuses(&ValueType::U64, "\"-1\"", "$[0]", "u64", range);
    for ty in [ValueType::S8, ValueType::U32, ValueType::U64] {
        for number in ["1.5", "1.0", "1e2", "18446744073709551616"] {
            refuses(&ty, number, "$[0]", "an integer", fraction);
        }
    }
    refuses(&ValueType::F32, "3.5e38", "$[0]", "f32", "a number out of range");
    refuses(&list(ValueType::U8), "[1, 256]", "$[0][1]", "u8", range);
    refuses(&list(ValueType::U8), "[-1]", "$[0][0]", "u8", range);
    refuses(&list(ValueType::U8), "[1.5]", "$[0][0]", "u8", fraction);
    refuses(&list(ValueType::U8), "[1, \"2\"]", "$[0][1]", "u8", "a string");
}

#[test]
fn strings_that_are_not_what_they_stand_for_are_refused() {
    for text in ["", "+1", "01", "1.0", " 1", "1e3", "0x10", "-0", "١"] {
        let json = format!("{text:?}");
        refuses(&ValueType::S64, &json, "$[0]", "a decimal string", "a string that is not a decimal integer");
    }
    for text in ["nan", "inf", "+Infinity", "1.0", ""] {
        refuses(&ValueType::F64, &format!("{text:?}"), "$[0]", r#""NaN", "Infinity" or "-Infinity""#, "a string");
    }
    refuses(&ValueType::U32, "\"1\"", "$[0]", "u32", "a string");
    refuses(&ValueType::Char, "\"\"", "$[0]", "char, a string of one character", "an empty string");
    refuses(&ValueType::Char, "\"ab\"", "$[0]", "char", "a string of several characters");
    refuses(&ValueType::Char, "\"e\\u0301\"", "$[0]", "char", "a string of several characters");
}

#[test]
fn invalid_base64_says_what_is_wrong_with_it() {
    let bytes = list(ValueType::U8);
    let expected = "list<u8>, as a base64 string with padding or an array of numbers";
    for (text, found) in [
        ("AA", "a string with missing or misplaced padding"),
        ("AAA", "a string with missing or misplaced padding"),
        ("A===", "a string with no base64 at its byte 1"),
        ("AB==", "a string whose last symbol has stray bits"),
        ("A-_A", "a string with no base64 at its byte 1"),
        ("AAAA\\nAAAA", "a string with no base64 at its byte 4"),
        ("AA==AAAA", "a string with no base64 at its byte 2"),
        ("====", "a string with no base64 at its byte 0"),
        ("é", "a string with no base64 at its byte 0"),
    ] {
        refuses(&bytes, &format!("\"{text}\""), "$[0]", expected, found);
    }
    for text in ["A", "AAAAA"] {
        let error = refused(&takes(&[("it", bytes.clone())]), format!("[\"{text}\"]").as_bytes());
        assert_eq!(parts(&error)[0], "$[0]", "{error}");
    }
}

#[test]
fn keys_are_known_given_once_and_complete() {
    let record = ValueType::Record(vec![field("a", ValueType::U8), field("b", ValueType::U8)]);
    let expected = "record{a: u8, b: u8}, an object with these keys";
    refuses(&record, r#"{"a":1,"a":1,"b":2}"#, "$[0]", expected, "the key `a` twice");
    refuses(&record, r#"{"a":1,"b":2,"c":3}"#, "$[0]", expected, "the unknown key `c`");
    refuses(&record, r#"{"A":1,"b":2}"#, "$[0]", expected, "the unknown key `A`");
    refuses(&record, r#"{"a":1}"#, "$[0]", expected, "an object without `b`");
    refuses(&ValueType::Record(vec![]), r#"{"a":1}"#, "$[0]", "record{}", "the unknown key `a`");
    let long = format!("{{\"\\u202e\\n{}\":1}}", "k".repeat(5000));
    let error = refused(&takes(&[("it", record)]), format!("[{long}]").as_bytes());
    let [path, _, found] = parts(&error);
    assert_eq!(path, "$[0]");
    assert!(
        found.starts_with(r"the unknown key `\u{202e}\nkkk") && found.ends_with("k…`") && found.len() < 120,
        "{found}"
    );
}

#[test]
fn parameters_are_counted_and_named() {
    let two = [("a", ValueType::U8), ("b", option(ValueType::U8))];
    let expected = "2 parameters, as an array in order or an object by name: (a: u8, b: option<u8>)";
    refuses_params(&two, "[1]", "$", expected, "1 parameter");
    refuses_params(&two, "[]", "$", expected, "0 parameters");
    refuses_params(&two, "[1,2,3,{}]", "$", expected, "4 parameters");
    refuses_params(&two, &format!("[{}1]", "1,".repeat(500)), "$", expected, "at least 66 parameters");
    refuses_params(&two, r#"{"b":1}"#, "$", expected, "an object without `a`");
    refuses_params(&two, r#"{"a":1,"c":1}"#, "$", expected, "the unknown key `c`");
    refuses_params(&two, r#"{"a":1,"a":1}"#, "$", expected, "the key `a` twice");
    refuses_params(&two, "", "$", expected, "an empty payload");
    refuses_params(&[], "[1]", "$", "no parameters: [], {} or an empty payload", "1 parameter");
    refuses_params(&[], r#"{"a":1}"#, "$", "no parameters", "the unknown key `a`");
    for (json, found) in [("1", "a number"), ("\"a\"", "a string"), ("null", "null"), ("true", "a boolean")] {
        refuses_params(&two[..1], json, "$", "1 parameter, as an array of it or an object by name: (a: u8)", found);
    }
    let tuple = ValueType::Tuple(vec![ValueType::U8, ValueType::U8]);
    refuses(&tuple, "[1]", "$[0]", "tuple<u8, u8>, an array of 2", "1 element");
    refuses(&tuple, "[1,2,3]", "$[0]", "tuple<u8, u8>", "3 elements");
}

#[test]
fn cases_carry_exactly_what_they_declare() {
    let shape = ValueType::Variant(vec![case("none", None), case("circle", Some(ValueType::U8))]);
    let expected = r#"variant{none, circle(u8)}, "case" or {"case": payload}"#;
    refuses(&shape, "\"square\"", "$[0]", expected, "the unknown case `square`");
    refuses(&shape, "\"circle\"", "$[0]", expected, "the case `circle` without what it carries");
    refuses(&shape, r#"{"none":null}"#, "$[0]", "`none`, which carries nothing, as a string", "an object");
    refuses(&shape, r#"{"square":1}"#, "$[0]", expected, "the unknown key `square`");
    refuses(&shape, r#"{"circle":1,"circle":2}"#, "$[0]", expected, "a second key `circle`");
    refuses(&shape, "{}", "$[0]", expected, "an empty object");
    refuses(&shape, r#"{"circle":null}"#, "$[0].circle", "u8", "null");
    let level = ValueType::Enum(names(&["low", "high"]));
    refuses(&level, "\"mid\"", "$[0]", "enum{low, high}, the name of a case", "the unknown case `mid`");
    let flags = ValueType::Flags(names(&["read", "write"]));
    refuses(&flags, r#"["read","read"]"#, "$[0][1]", "a name of flags{read, write}", "`read` twice");
    refuses(&flags, r#"["read","run"]"#, "$[0][1]", "a name of flags{read, write}", "the unknown name `run`");
    refuses(&flags, "[1]", "$[0][0]", "a name of", "a number");
    refuses(&flags, "\"read\"", "$[0]", "an array of names", "a string");
}

#[test]
fn results_and_nested_options_have_one_known_key() {
    let ty = result(Some(ValueType::U8), None);
    let expected = r#"result<u8>, {"ok": value} or {"err": value}"#;
    refuses(&ty, "1", "$[0]", expected, "a number");
    refuses(&ty, "\"ok\"", "$[0]", expected, "a string");
    refuses(&ty, r#"{"okay":1}"#, "$[0]", expected, "the unknown key `okay`");
    refuses(&ty, r#"{"ok":1,"err":null}"#, "$[0]", expected, "a second key `err`");
    refuses(&ty, r#"{"err":1}"#, "$[0].err", "null, as nothing is carried here", "a number");
    let twice = option(option(ValueType::U8));
    refuses(&twice, "1", "$[0]", r#"option<option<u8>>, null or {"some": value}"#, "a number");
    refuses(&twice, r#"{"none":1}"#, "$[0]", "option<option<u8>>", "the unknown key `none`");
    refuses(&option(ValueType::U8), r#"{"some":1}"#, "$[0]", "u8", "an object");
}

#[test]
fn each_type_refuses_the_other_kinds_of_json() {
    let bytes = list(ValueType::U8);
    let cases = [
        (ValueType::Bool, "1 \"\" null [] {}"),
        (ValueType::U8, "true \"\" null [] {}"),
        (ValueType::S64, "true null [] {}"),
        (ValueType::F32, "true null [] {}"),
        (ValueType::Char, "1 true null [] {}"),
        (ValueType::String, "1 1.5 -1 true null [] {}"),
        (bytes, "1 1.5 -1 true null {}"),
        (list(ValueType::Bool), "1 \"\" true null {}"),
        (ValueType::Tuple(vec![]), "1 \"\" true null {}"),
        (ValueType::Record(vec![]), "1 \"\" true null []"),
        (ValueType::Variant(vec![case("a", None)]), "1 true null []"),
        (ValueType::Enum(names(&["a"])), "1 true null [] {}"),
        (ValueType::Flags(names(&["a"])), "1 \"\" true null {}"),
        (result(None, None), "1 \"\" true null []"),
        (option(ValueType::Bool), "1 \"\" [] {}"),
        (option(option(ValueType::Bool)), "1 \"\" true []"),
    ];
    for (ty, wrong) in &cases {
        for json in wrong.split(' ') {
            let found = match json.as_bytes()[0] {
                b't' => "a boolean",
                b'n' => "null",
                b'"' => "a string",
                b'[' => "an array",
                b'{' => "an object",
                _ => "a number",
            };
            refuses(ty, json, "$[0]", "", found);
        }
    }
}

#[test]
fn malformed_json_is_named_with_its_place() {
    let params = [("a", list(ValueType::String))];
    for (json, path, found) in [
        ("[[\"a\"", "$[0][1]", "EOF while parsing a list at line 1 column 5"),
        ("[[\"a\"]] x", "$", "trailing characters at line 1 column 9"),
        ("[[\"a\",]]", "$[0][1]", "trailing comma at line 1 column 7"),
        ("[[\"\\ud800\"]]", "$[0][0]", "unexpected end of hex escape at line 1 column 10"),
        ("[[\"\\udc00\"]]", "$[0][0]", "lone leading surrogate in hex escape at line 1 column 9"),
        ("[[\"\\ud800\\u0041\"]]", "$[0][0]", "lone leading surrogate in hex escape at line 1 column 15"),
        ("[[NaN]]", "$[0][0]", "expected value at line 1 column 3"),
        (
            "[[\"a\nb\"]]",
            "$[0][0]",
            "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
        ),
        ("\u{feff}[[]]", "$", "expected value at line 1 column 1"),
    ] {
        refuses_params(&params, json, path, "well-formed JSON", found);
    }
    let error = refused(&takes(&params), b"[[\"\xff\"]]");
    assert_eq!(parts(&error)[2], "invalid unicode code point at line 1 column 4");
    let error = refused(&takes(&[("x", ValueType::F64)]), b"[1e999]");
    assert_eq!(parts(&error)[2], "number out of range at line 1 column 6");
}

#[test]
fn the_typed_paths_refuse_what_the_general_one_refuses() {
    let limits = ValueLimits::default();
    let error = decode_single_bytes("data", b"[\"AA\"]", &limits).unwrap_err();
    assert_eq!(parts(&error)[0], "$[0]");
    let error = decode_single_bytes("data", b"{\"data\":[0,256]}", &limits).unwrap_err();
    assert_eq!(parts(&error)[0], "$.data[1]");
    let error = decode_single_bytes("data", b"\"AA==\"", &limits).unwrap_err();
    assert_eq!(parts(&error)[1], "1 parameter, as an array of it or an object by name: (data: list<u8>)");
    let error = decode_single_bytes("data", b"{}", &limits).unwrap_err();
    assert_eq!(parts(&error)[2], "an object without `data`");
    let error = decode_single_string("text", b"[1]", &limits).unwrap_err();
    assert_eq!(parts(&error), ["$[0]", "string", "a number"]);
    let error = decode_single_string("text", b"", &limits).unwrap_err();
    assert_eq!(parts(&error)[2], "an empty payload");
    let error = decode_single_string("text", b"[\"a\",\"b\"]", &limits).unwrap_err();
    assert_eq!(parts(&error)[2], "2 parameters");
}

#[test]
fn an_error_never_repeats_strings_or_numbers_of_the_payload() {
    let secret = "hunter2-4711";
    let wide =
        ValueType::Record(vec![field("n", ValueType::U8), field("c", ValueType::Char), field("x", ValueType::S64)]);
    for json in [
        format!("[{{\"n\":\"{secret}\"}}]"),
        format!("[{{\"c\":\"{secret}\"}}]"),
        format!("[{{\"x\":\"{secret}\"}}]"),
        format!("\"{secret}\""),
        "[{\"n\":4711}]".to_owned(),
    ] {
        let error = refused(&takes(&[("it", wide.clone())]), json.as_bytes());
        assert!(!format!("{error:?}").contains("4711"), "{error:?}");
    }
}

#[test]
fn an_error_stays_small_under_huge_types_and_deep_paths() {
    let name = "n".repeat(3000);
    let mut ty = ValueType::Bool;
    for _ in 0..40 {
        ty = ValueType::Record(vec![field(&name, ty)]);
    }
    let json = format!("[{}1{}]", format!("{{\"{name}\":").repeat(40), "}".repeat(40));
    let signature = takes(&[("it", ty)]);
    let error = refused(&signature, b"[1]");
    let [_, expected, _] = parts(&error);
    assert!(expected.ends_with("…, an object with these keys") && expected.len() < 200, "{expected}");
    let error = refused(&signature, json.as_bytes());
    let [path, expected, found] = parts(&error);
    assert!(path.starts_with("$…") && path.len() <= 130 && path.ends_with("nnnn"), "{path}");
    assert_eq!((expected, found), ("bool, true or false", "a number"));
}
