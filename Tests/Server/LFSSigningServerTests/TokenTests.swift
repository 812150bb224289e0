import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Upload tokens")
struct TokenTests {
    private func ticket(_ key: String = "space/one", size: Int64 = 100) throws -> UploadTicket {
        UploadTicket(
            key: try ObjectKey(key), bytes: DeclaredContent(byteCount: size, sha256: Digests.sha256([1])), partSize: 10,
            upload: "store's own name", replaces: true)
    }

    private func refusal(_ tokens: UploadTokens, token: String, caller: String = "alice") -> WireFailure.Code? {
        let result = Result { () throws(WireFailure) in try tokens.ticket(token, caller: caller) }
        return if case .failure(let failure) = result { failure.code } else { nil }
    }

    @Test func `An upload token is accepted from the caller that received it`() throws {
        let tokens = UploadTokens(secret: try SigningSecret(Data(repeating: 1, count: 32)))
        let token = try tokens.token(for: ticket(), caller: "alice")
        #expect(WireFormat.isToken(token))
        #expect(try tokens.ticket(token, caller: "alice") == ticket())
    }

    @Test func `An upload token with another caller, secret or byte is refused`() throws {
        let tokens = UploadTokens(secret: try SigningSecret(Data(repeating: 1, count: 32)))
        let token = try tokens.token(for: ticket(), caller: "alice")
        #expect(refusal(tokens, token: token, caller: "bob") == .lostUpload)
        #expect(
            refusal(UploadTokens(secret: try SigningSecret(Data(repeating: 2, count: 32))), token: token) == .lostUpload
        )
        var count = 0
        for index in token.utf8.indices {
            for byte in "Aa0-_.".utf8 where token.utf8[index] != byte {
                var bytes = Array(token.utf8)
                let offset = token.utf8.distance(from: token.utf8.startIndex, to: index)
                bytes[offset] = byte
                #expect(refusal(tokens, token: String(decoding: bytes, as: UTF8.self)) == .lostUpload)
                count += 1
            }
        }
        #expect(count > 1_000)
        for cut in [0, 1, 64, token.utf8.count - 1] {
            #expect(refusal(tokens, token: String(token.prefix(cut))) == .lostUpload)
            #expect(refusal(tokens, token: String(token.dropFirst(cut + 1))) == .lostUpload)
        }
    }

    @Test func `A token of each accepted secret is accepted, and the first secret signs`() throws {
        let (one, two) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
        let tokens = UploadTokens(secret: try SigningSecret(two, accepting: [one]))
        let (old, new) = (
            UploadTokens(secret: try SigningSecret(one)), UploadTokens(secret: try SigningSecret(two))
        )
        let former = try old.token(for: ticket(), caller: "alice")
        #expect(refusal(tokens, token: former) == nil)
        let token = try tokens.token(for: ticket(), caller: "alice")
        #expect(refusal(tokens, token: token) == nil && refusal(new, token: token) == nil)
        #expect(refusal(old, token: token) == .lostUpload)
        #expect(throws: StorageError.self) { try tokens.secret.replace(with: one, accepting: [Data([1])]) }
        #expect(refusal(tokens, token: token) == nil)
        try tokens.secret.replace(with: two)
        #expect(refusal(tokens, token: former) == .lostUpload && refusal(tokens, token: token) == nil)
    }

    /// The caller's name follows the token's body in the signed text and must not be mistaken for a part of the body.
    @Test func `A caller whose name continues an upload token is refused`() throws {
        let tokens = UploadTokens(secret: try SigningSecret(Data(repeating: 1, count: 32)))
        let token = try tokens.token(for: ticket(), caller: "a\nb")
        #expect(refusal(tokens, token: token, caller: "b") == .lostUpload)
        #expect(refusal(tokens, token: token, caller: "a\nb") == nil)
    }

    @Test func `A signing secret has at least 32 bytes and does not appear in dumps`() throws {
        #expect(throws: StorageError.self) { try SigningSecret(Data(repeating: 1, count: 31)) }
        var text = ""
        let secret = try SigningSecret(Data("canarycanarycanarycanarycanarycanary".utf8))
        dump(secret, to: &text)
        #expect(!text.contains("canary") && !"\(secret)".contains("canary"))
        #expect(SigningSecret.random() != SigningSecret.random() && SigningSecret.random().count == 32)
    }

    @Test func `A URL of the folder store with any changed byte is refused`() throws {
        let links = FolderLinks(
            publicURL: try #require(URL(string: "https://app.example/lfs/")),
            secret: try SigningSecret(Data(repeating: 1, count: 32)), now: { Date(timeIntervalSince1970: 1_000) })
        let permit = FolderPermit(
            key: try ObjectKey("space/one"),
            purpose: .put(byteCount: 3, sha256: Digests.sha256([1, 2, 3]), replaces: false))
        let url = links.url(for: permit, expires: .seconds(900))
        #expect(url.hasPrefix("https://app.example/lfs/bytes/space/one?expires=1900&"))
        let query = String(try #require(url.split(separator: "?").last))
        #expect(links.permit(method: "PUT", key: "space/one", query: query) == permit)
        for index in 0..<query.utf8.count {
            var bytes = Array(query.utf8)
            bytes[index] = bytes[index] == 0x31 ? 0x32 : 0x31
            let changed = String(decoding: bytes, as: UTF8.self)
            #expect(links.permit(method: "PUT", key: "space/one", query: changed) == nil, "\(changed)")
        }
        for changed in ["", "?", "signature=", query + "&create=0", "create=0&" + query, query + "0"] {
            #expect(links.permit(method: "PUT", key: "space/one", query: changed) == nil)
        }
        #expect(links.permit(method: "GET", key: "space/one", query: query) == nil)
        #expect(links.permit(method: "PUT", key: "space/two", query: query) == nil)
        let later = FolderLinks(publicURL: links.publicURL, secret: links.secret) { Date(timeIntervalSince1970: 1_900) }
        #expect(later.permit(method: "PUT", key: "space/one", query: query) == nil)
    }
}
