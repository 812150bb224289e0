import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import LFSServer

@Suite("The token file")
struct TokenFileTests {
    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try body(folder.appendingPathComponent("tokens").path)
    }

    @Test func `A token is accepted until it is revoked, and the file does not contain it`() throws {
        try inFolder { path in
            var file = try TokenFile(path: path, mayBeMissing: true)
            let (alice, bob) = (try file.add("alice"), try file.add("bob"))
            let again = try TokenFile(path: path)
            #expect(again.name(of: alice) == "alice" && again.name(of: bob) == "bob")
            #expect(again.name(of: "") == nil && again.name(of: alice + "x") == nil)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(!text.contains(alice) && !text.contains(alice.dropFirst(4)))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try file.revoke("alice") == 1)
            #expect(try TokenFile(path: path).name(of: alice) == nil)
            #expect(try TokenFile(path: path).name(of: bob) == "bob")
            #expect(try file.revoke("nobody") == 0)
        }
    }

    @Test func `A change that cannot be written leaves the tokens as they were`() throws {
        try inFolder { path in
            var file = try TokenFile(path: path, mayBeMissing: true)
            let alice = try file.add("alice")
            let folder = (path as NSString).deletingLastPathComponent
            try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
            #expect(throws: TokenFile.Failure.self) { try file.add("bob") }
            #expect(throws: TokenFile.Failure.self) { try file.revoke("alice") }
            #expect(file.entries.map(\.name) == ["alice"] && file.name(of: alice) == "alice")
            try FileManager.default.moveItem(atPath: folder + "-away", toPath: folder)
        }
    }

    @Test func `A change keeps what other processes have changed since the file was read`() throws {
        try inFolder { path in
            var (one, other) = (
                try TokenFile(path: path, mayBeMissing: true), try TokenFile(path: path, mayBeMissing: true)
            )
            let (alice, bob) = (try one.add("alice"), try other.add("bob"))
            let both = try TokenFile(path: path)
            #expect(both.name(of: alice) == "alice" && both.name(of: bob) == "bob")
            #expect(try other.revoke("alice") == 1)
            let carol = try one.add("carol")
            let rest = try TokenFile(path: path)
            #expect(rest.name(of: alice) == nil)
            #expect(rest.name(of: bob) == "bob" && rest.name(of: carol) == "carol")
            #expect(one.entries.map(\.name) == ["bob", "carol"])
        }
    }

    @Test func `A change through a link applies to the file that the link leads to`() throws {
        try inFolder { path in
            let (link, files) = (path + "-link", FileManager.default)
            var file = try TokenFile(path: path, mayBeMissing: true)
            let alice = try file.add("alice")
            try files.createSymbolicLink(atPath: link, withDestinationPath: "tokens")
            var linked = try TokenFile(path: link)
            let bob = try linked.add("bob")
            #expect(try linked.revoke("alice") == 1)
            let served = try TokenFile(path: path)
            #expect(served.name(of: alice) == nil && served.name(of: bob) == "bob")
            #expect(try files.destinationOfSymbolicLink(atPath: link) == "tokens")
        }
    }

    @Test func `A change keeps comments and empty lines`() throws {
        try inFolder { path in
            let hash = String(repeating: "0", count: 64)
            let text = "# The laptop\n\(hash) alice\n\n# The phone\n\(hash) bob"
            let made = FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            #expect(made)
            var file = try TokenFile(path: path)
            _ = try file.add("carol")
            #expect(try file.revoke("bob") == 1)
            #expect(try file.revoke("carol") == 1)
            let rest = try String(contentsOfFile: path, encoding: .utf8)
            #expect(rest == "# The laptop\n\(hash) alice\n\n# The phone\n")
        }
    }

    @Test func `Tokens that are added concurrently are all kept`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("tokens").path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    var file = try TokenFile(path: path, mayBeMissing: true)
                    _ = try file.add("user\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(try TokenFile(path: path).entries.map(\.name)).count == 32)
        try FileManager.default.removeItem(at: folder)
    }

    @Test(.enabled(if: geteuid() == 0, "it takes root"))
    func `A file that root changes keeps its owner`() throws {
        try inFolder { path in
            var file = try TokenFile(path: path, mayBeMissing: true)
            _ = try file.add("alice")
            #expect(chown(path, 65_534, 65_533) == 0)
            _ = try file.add("bob")
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_uid == 65_534 && status.st_gid == 65_533)
        }
    }

    @Test func `An empty token file of any mode is accepted and becomes private to its owner`() throws {
        try inFolder { path in
            #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]))
            var file = try TokenFile(path: path)
            _ = try file.add("alice")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            #expect(throws: TokenFile.Failure.self) { try TokenFile(path: path) }
        }
    }

    @Test(arguments: ["", "a b", "a\nb", "ü", "a/b", String(repeating: "a", count: 65)])
    func `An invalid user name is not added to the token file`(_ name: String) throws {
        try inFolder { path in
            var file = try TokenFile(path: path, mayBeMissing: true)
            #expect(throws: TokenFile.Failure.self) { try file.add(name) }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A missing token file is refused, and an invalid one with the line`() throws {
        try inFolder { path in
            #expect(throws: TokenFile.Failure.self) { try TokenFile(path: path) }
            let text = Data("# note\nnonsense\n".utf8)
            #expect(
                FileManager.default.createFile(atPath: path, contents: text, attributes: [.posixPermissions: 0o600]))
            let failure = #expect(throws: TokenFile.Failure.self) { try TokenFile(path: path) }
            #expect(failure?.description.contains("Line 2") == true)
        }
    }

    @Test func `A running server refuses a token after it was revoked`() throws {
        try inFolder { path in
            var file = try TokenFile(path: path, mayBeMissing: true)
            let token = try file.add("alice")
            let known = try TokenAuthentication(path: path, logger: Logger(label: "test"), interval: .zero)
            let request = Request(
                head: .init(
                    method: .get, scheme: nil, authority: nil, path: "/",
                    headerFields: [.authorization: "Bearer \(token)"]),
                body: .init(buffer: ByteBuffer()))
            #expect(known.name(of: request) == "alice")
            _ = try file.revoke("alice")
            #expect(known.name(of: request) == nil)
        }
    }
}
