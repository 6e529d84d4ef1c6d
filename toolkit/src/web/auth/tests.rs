use super::*;

fn users(pairs: &[(&str, &str)]) -> Users {
    let hash = |password: &str| Hash {
        text: bcrypt::hash(password, 4).unwrap(),
        cost: 4,
    };
    let hashes = pairs
        .iter()
        .map(|(user, password)| ((*user).to_owned(), hash(password)));
    Users::new(hashes.collect())
}

fn basic(pair: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair))).unwrap()
}

#[tokio::test]
async fn who_was_let_in_is_not_compared_again() {
    let users = users(&[("anna", "secret")]);
    assert!(users.admit(Some(&basic("anna:secret"))).await);
    // Nobody can compare from here on.
    users.comparing.close();
    assert!(users.admit(Some(&basic("anna:secret"))).await);
    for other in ["anna:secre", "anna:secret2", "ann:a:secret", "bert:secret"] {
        assert!(!users.admit(Some(&basic(other))).await, "{other}");
    }
}

/// An unknown name is compared too: how long the answer takes must not tell which names exist.
#[tokio::test]
async fn an_unknown_name_waits_for_a_comparison_and_is_refused_even_with_a_known_password() {
    let users = users(&[("anna", "secret")]);
    let turn = users.comparing.acquire().await.unwrap();
    let header = basic("bert:secret");
    let mut refused = std::pin::pin!(users.admit(Some(&header)));
    tokio::select! {
        biased;
        _ = &mut refused => panic!("answered without a comparison"),
        () = std::future::ready(()) => {}
    }
    drop(turn);
    assert!(!refused.await);
    assert!(users.remembered.lock().unwrap().is_empty());
}

#[test]
fn an_unknown_name_is_compared_with_the_costliest_hash() {
    let hash = |cost| Hash {
        text: String::new(),
        cost,
    };
    let hashes = [("anna", 4), ("berta", 12), ("carla", 8)];
    let hashes = hashes.map(|(user, cost)| (user.to_owned(), hash(cost)));
    let users = Users::new(BTreeMap::from(hashes));
    let found = |user| {
        let (hash, is_own) = users.hash_for(user).unwrap();
        (hash.cost, is_own)
    };
    assert_eq!(found("carla"), (8, true));
    assert_eq!(found("nobody"), (12, false));
}

/// bcrypt reads 72 bytes: whoever knows them could otherwise make the memory grow without end.
#[tokio::test]
async fn what_is_remembered_is_bounded() {
    let long = "x".repeat(72);
    let users = users(&[("anna", &long)]);
    for more in 0..=MAX_REMEMBERED {
        assert!(
            users
                .admit(Some(&basic(&format!("anna:{long}{more}"))))
                .await
        );
    }
    assert!(users.remembered.lock().unwrap().len() <= MAX_REMEMBERED);
}

#[tokio::test]
async fn headers_that_are_not_basic_let_nobody_in() {
    let users = users(&[("anna", "secret")]);
    for header in ["Bearer x", "Basic", "Basic !!!", "Basic YW5uYQ==", ""] {
        let header = HeaderValue::from_str(header).unwrap();
        assert!(!users.admit(Some(&header)).await, "{header:?}");
    }
    assert!(!users.admit(None).await);
    let lower = HeaderValue::from_static("basic YW5uYTpzZWNyZXQ=");
    assert!(users.admit(Some(&lower)).await);
}

#[test]
fn a_hash_prints_nothing_of_itself() {
    let hash = Hash {
        text: "$2b$canary".to_owned(),
        cost: 4,
    };
    assert_eq!(format!("{hash:?}"), "<secret>");
}
