import Foundation
import LFSStorage
import Synchronization
import TestSupport
import Testing

@testable import LFSWebDAV

/// Replies of a storage are untrusted input.
@Suite("Fuzzed WebDAV replies", .timeLimit(.minutes(20)))
struct WebDAVReplyFuzzTests {
    private static let sample = """
        <?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/a%20b/</D:href>\
        <D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop>\
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response><D:response><D:href>/a%20b/x</D:href>\
        <D:propstat><D:prop><D:getcontentlength> 5 </D:getcontentlength>\
        <D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified><D:getetag>W/"5-x"</D:getetag></D:prop>\
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
        """

    @Test("Random WebDAV replies are parsed or refused in pieces of any size")
    func replies() throws {
        let place = try WebDAVPlace(#require(URL(string: "https://host:8443/a%20b")))
        var (round, read) = (0, 0)
        for bytes in FuzzedInputs([Self.sample]) {
            round += 1
            let sizes = Mutex<[Int64]>([])
            let reader = MultistatusReader(itself: "", in: place) { resource in
                sizes.withLock { $0.append(resource.byteCount ?? 0) }
            }
            do {
                let piece = [1, 7, 64, 100_000][round % 4]
                for start in stride(from: 0, to: bytes.count, by: piece) {
                    try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { try reader.read($0) }
                }
                _ = try reader.finish()
                read += 1
            } catch is StorageError {
                // The reply is refused.
            }
            #expect(sizes.withLock { $0.allSatisfy { $0 >= 0 } })
        }
        #expect(read > 0)
    }
}
