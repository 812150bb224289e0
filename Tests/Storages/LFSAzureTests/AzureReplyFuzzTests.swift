import LFSHTTP
import LFSStorage
import TestSupport
import Testing

@testable import LFSAzure

/// Replies of a storage are untrusted input.
@Suite("Fuzzed Azure replies", .timeLimit(.minutes(20)))
struct AzureReplyFuzzTests {
    private static let samples = [
        """
        <?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob><Name>a/b</Name><Properties>\
        <Last-Modified>Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified><Etag>0x8D</Etag>\
        <Content-Length>5</Content-Length><ResourceType>file</ResourceType></Properties></Blob></Blobs>\
        <NextMarker>2!x</NextMarker></EnumerationResults>
        """,
        """
        <BlockList><CommittedBlocks><Block><Name>AAAA</Name><Size>4194304</Size></Block></CommittedBlocks>\
        <UncommittedBlocks><Block><Name>AAAB</Name><Size>7</Size></Block></UncommittedBlocks></BlockList>
        """,
    ]

    @Test("Random Azure replies are parsed or refused and have no negative sizes")
    func replies() {
        var read = 0
        for bytes in FuzzedInputs(Self.samples) {
            if let reply = try? ListBlobsReply(bytes) {
                read += 1
                #expect(reply.blobs.allSatisfy { $0.byteCount >= 0 })
            }
            let head = HTTPResponseHead(status: 200, headers: [:])
            if let reply = try? BlockListReply(HTTPResponse(head: head, body: bytes, bytesSent: 0)) {
                read += 1
                #expect((reply.committed + reply.uncommitted).allSatisfy { $0.byteCount >= 0 })
            }
        }
        #expect(read > 0)
    }

    @Test("A random block name is refused or written as it was read")
    func names() throws {
        let digest = String(repeating: "ab", count: 32)
        let id = try #require(SignedBlockID(md5: String(repeating: "12", count: 16), number: 7, of: digest))
        for bytes in FuzzedInputs([id.text]) {
            let text = String(decoding: bytes, as: UTF8.self)
            guard let listed = SignedBlockID(listed: text, of: digest) else { continue }
            #expect(SignedBlockID(listed: listed.text, of: digest) == listed)
        }
    }
}
