//! SCRAM-SHA-256 (RFC 5802, 7677): the password is proved and not sent, and the server proves that it knows it too. With
//! channel binding (`-PLUS`, RFC 5929's `tls-server-end-point`) the proof holds for the TLS session it runs in alone.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::sasl::{
    ChannelBinding as Bound, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use super::auth::refused;
use super::conversation::{Conversation, protocol, refusal};
use crate::config::ChannelBinding;
use crate::engine::Failure;

/// Authenticates by one of the mechanisms in `offer`; whether that bound the channel.
pub(super) fn exchange(
    server: &mut Conversation,
    offer: &AuthenticationSaslBody,
    password: &[u8],
    wanted: ChannelBinding,
) -> Result<bool, Failure> {
    let mut offered = Offer {
        end_point: server.wire().end_point(),
        ..Offer::default()
    };
    let mut names = offer.mechanisms();
    while let Some(name) = names.next().map_err(|error| protocol(error.to_string()))? {
        offered.plain |= name == SCRAM_SHA_256;
        offered.plus |= name == SCRAM_SHA_256_PLUS;
    }
    let (mechanism, binding) = offered.choose(wanted)?;
    let mut scram = ScramSha256::new(password, binding);
    let first =
        |out: &mut BytesMut| frontend::sasl_initial_response(mechanism, scram.message(), out);
    server.build(first)?;
    server.send()?;
    match server.next()? {
        // Refuses more than 100,000 iterations: no deadline would end them.
        Message::AuthenticationSaslContinue(body) => scram
            .update(body.data())
            .map_err(|error| protocol(error.to_string()))?,
        Message::ErrorResponse(body) => return Err(refusal(&body)),
        _ => return Err(protocol("an unexpected message in SCRAM")),
    }
    server.build(|out| frontend::sasl_response(scram.message(), out))?;
    server.send()?;
    match server.next()? {
        Message::AuthenticationSaslFinal(body) => scram
            .finish(body.data())
            .map_err(|_| refused("the server does not prove that it knows the password"))?,
        Message::ErrorResponse(body) => return Err(refusal(&body)),
        _ => return Err(protocol("an unexpected message in SCRAM")),
    }
    Ok(mechanism == SCRAM_SHA_256_PLUS)
}

/// What the server offers, and what of it can be used.
#[derive(Debug, Default)]
struct Offer {
    plain: bool,
    plus: bool,
    /// `None` without TLS, `Some(None)` where its certificate has no hash to bind to.
    end_point: Option<Option<Vec<u8>>>,
}

impl Offer {
    /// The mechanism, and what is said about the channel. As libpq's `channel_binding`, but that it goes on unbound
    /// where it may and the certificate has nothing to bind to.
    fn choose(self, wanted: ChannelBinding) -> Result<(&'static str, Bound), Failure> {
        if self.plus && self.end_point.is_none() {
            return Err(refused(
                "the server offers to bind TLS that there is not: somebody between may have ended it",
            ));
        }
        let can_bind = wanted != ChannelBinding::Disable;
        match self.end_point.flatten() {
            Some(hash) if can_bind && self.plus => {
                Ok((SCRAM_SHA_256_PLUS, Bound::tls_server_end_point(hash)))
            }
            _ if wanted == ChannelBinding::Require && self.plus => Err(refused(
                "channel_binding is required, and the signature of the server's certificate has no hash to bind to",
            )),
            _ if wanted == ChannelBinding::Require => Err(refused(
                "channel_binding is required, and the server offers none",
            )),
            _ if !self.plain => Err(refused("the server offers no scram-sha-256")),
            // Says that we would have: a server that did offer it knows then that somebody took the offer away.
            Some(_) if can_bind => Ok((SCRAM_SHA_256, Bound::unrequested())),
            _ => Ok((SCRAM_SHA_256, Bound::unsupported())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mechanism and the first bytes of what is said, or why there is none.
    fn choice(offer: Offer, wanted: ChannelBinding) -> Result<(&'static str, String), String> {
        let (mechanism, binding) = offer.choose(wanted).map_err(|failure| failure.message)?;
        let first = ScramSha256::new(b"", binding);
        let said = String::from_utf8(first.message().to_vec()).unwrap();
        Ok((mechanism, said.split(',').next().unwrap().to_owned()))
    }

    #[test]
    fn the_channel_is_bound_as_libpq_binds_it() {
        use ChannelBinding::{Disable, Prefer, Require};
        let bound = || Some(Some(vec![1]));
        let plus = Ok((SCRAM_SHA_256_PLUS, "p=tls-server-end-point"));
        let (able, unable) = (Ok((SCRAM_SHA_256, "y")), Ok((SCRAM_SHA_256, "n")));
        for (plain, is_plus, end_point, wanted, expected) in [
            (true, true, bound(), Prefer, plus),
            (true, true, bound(), Require, plus),
            (false, true, bound(), Prefer, plus),
            (true, true, bound(), Disable, unable),
            (true, false, bound(), Disable, unable),
            (true, false, bound(), Prefer, able),
            (true, false, bound(), Require, Err("offers none")),
            (true, true, Some(None), Prefer, unable),
            (true, false, Some(None), Prefer, unable),
            (true, true, Some(None), Require, Err("no hash")),
            (true, false, None, Prefer, unable),
            (true, false, None, Require, Err("offers none")),
            (true, true, None, Prefer, Err("TLS that there is not")),
            (false, false, bound(), Prefer, Err("no scram-sha-256")),
            (false, true, bound(), Disable, Err("no scram-sha-256")),
        ] {
            let offer = Offer {
                plain,
                plus: is_plus,
                end_point: end_point.clone(),
            };
            let case = format!("{offer:?} {wanted:?}");
            match (choice(offer, wanted), expected) {
                (Ok((mechanism, said)), Ok(expected)) => {
                    assert_eq!((mechanism, said.as_str()), expected, "{case}");
                }
                (Err(message), Err(part)) => assert!(message.contains(part), "{case}: {message}"),
                (got, expected) => panic!("{case}: {got:?} and not {expected:?}"),
            }
        }
    }
}
