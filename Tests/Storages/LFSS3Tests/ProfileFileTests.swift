import Foundation
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

@Suite("Profile files") struct ProfileFileTests {
    private func file(_ text: String) throws -> ProfileFile { try ProfileFile(text, name: "f") }

    @Test func hasSettingsInSections() throws {
        let file = try file(
            """
            before = nothing
            # comment
            ; comment
            [default]
            Region=eu-central-1
            aws_access_key_id   =   AKIA
            aws_secret_access_key = a=b/c+d#e;f

            [ profile   work ] # a comment
            region = us-east-1 # a comment
            endpoint_url = http://127.0.0.1:8333/#x ; a comment
            s3 =
              region = nested
              addressing_style = path
            no setting at all
            empty =
            [default]
            region = eu-west-1
            """)
        #expect(file["default"]?["region"] == "eu-west-1")
        #expect(file["default"]?["aws_access_key_id"] == "AKIA")
        #expect(file["default"]?["aws_secret_access_key"] == "a=b/c+d#e;f")
        #expect(
            file["profile work"] == [
                "region": "us-east-1", "endpoint_url": "http://127.0.0.1:8333/#x", "s3": "", "s3.region": "nested",
                "s3.addressing_style": "path", "empty": "",
            ])
        #expect(file["work"] == nil)
        #expect(file[""] == nil)
    }

    @Test(arguments: ["\r\n", "\r", "\n"])
    func hasLinesOfAnyKind(_ newline: String) throws {
        let file = try file("\u{FEFF}[a]\(newline)b = c\(newline)\(newline)[d]\(newline)e=f")
        #expect(file["a"] == ["b": "c"])
        #expect(file["d"] == ["e": "f"])
    }

    @Test func isRefusedWithTheLineOfABrokenSection() {
        let error = #expect(throws: StorageError.self) { try file("[a]\nsecret = hush\n[b\nc = d") }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("Line 3 of f") == true)
        #expect(error?.message.contains("hush") == false)
    }

    @Test func mayBeMissingButNotHuge() async throws {
        try await withTemporaryFolder { folder in
            #expect(try ProfileFile(path: folder.child("none").path) == nil)
            let huge = folder.child("huge")
            try Data("[a]\n".utf8 + [UInt8](repeating: 0x23, count: 1 << 20)).write(to: huge)
            #expect(throws: StorageError.self) { try ProfileFile(path: huge.path) }
            try Data("[a]\nb=c".utf8).write(to: folder.child("good"))
            try FileManager.default.createSymbolicLink(
                at: folder.child("link"), withDestinationURL: folder.child("good"))
            #expect(try ProfileFile(path: folder.child("link").path)?["a"] == ["b": "c"])
            #expect(throws: StorageError.self) { try ProfileFile(path: folder.path) }
        }
    }
}
