import Foundation
import Testing

@testable import lfs_server

@Suite("Version of lfs-server")
struct ServerVersionTests {
    @Test func `The version is the first one of the changelog`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "CHANGELOG.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let first = try #require(text.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(first.contains(ServerVersion.text))
    }

    @Test func `--version prints the version`() throws {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: ServerProcess.program)
        process.arguments = ["--version"]
        process.standardOutput = output
        try process.start()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && text == "\(ServerVersion.text)\n")
    }
}
