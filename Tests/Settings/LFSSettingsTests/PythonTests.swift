import Crypto
import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSSettings

/// An implementation in Python's `cryptography` (OpenSSL), written from the description of the form alone:
/// `envelope.py`.
@Suite("Interoperability of envelopes", .enabled(if: Python.isThere, "it takes Python's cryptography"))
struct PythonTests {
    private static let suites: [EnvelopeSuite] = [.aesGCM, .chaChaPoly]
    private let key = DataKey(id: .random(), key: SymmetricKey(size: .bits256))
    private let context = EnvelopeContext(
        installID: FileID.make(), domain: "database", name: "account.token", serializer: "json", version: 3)

    private var arguments: [String] {
        [
            key.key.withUnsafeBytes { ContentHash.hex(of: Data($0)) }, key.id.text, context.installID.text,
            context.domain, context.name, context.serializer, String(context.version),
        ]
    }

    @Test("Python opens an envelope that Swift has sealed", arguments: suites)
    private func opens(suite: EnvelopeSuite) async throws {
        for value in ["", "a", "a longer value, ✓"] {
            let envelope = try Envelope.close(Data(value.utf8), with: key, suite: suite, for: context)
            let answer = try await Python.run(["open"] + arguments + [ContentHash.hex(of: envelope)])
            #expect(answer == ContentHash.hex(of: Data(value.utf8)))
        }
    }

    @Test("Swift opens an envelope that Python has sealed", arguments: suites)
    private func closes(suite: EnvelopeSuite) async throws {
        for value in ["", "a", "a longer value, ✓"] {
            let hex = try await Python.run(
                ["close"] + arguments + [ContentHash.hex(of: Data(value.utf8)), String(suite.rawValue)])
            let envelope = try #require(Data(hex: hex))
            #expect(try Envelope.open(envelope, with: key, for: context) == Data(value.utf8))
        }
    }
}

enum Python {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().child("envelope.py").path

    /// The first Python that has the module. Tests/install-tools installs it as `python3-cryptography`.
    private static let tool: String? = ["python3", "/usr/bin/python3"].first { tool in
        do { return try runTool(tool, arguments: ["-c", "import cryptography"]) } catch {
            print("\(tool) does not run: \(error)")
            return false
        }
    }

    static let isThere: Bool = {
        if tool == nil { print("skipped: no python3 has the module cryptography; Tests/run-tests installs it") }
        return tool != nil
    }()

    static func run(_ arguments: [String]) async throws -> String {
        try await withTemporaryFolder { folder in
            var run = ToolRun(try #require(tool), arguments: [script] + arguments)
            run.output = folder.child("output")
            let status = try await run.finish()
            let text = String(decoding: try Data(contentsOf: folder.child("output")), as: UTF8.self)
            try #require(status == 0, "\(text)")
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}

extension Data {
    init?(hex: String) {
        let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        guard digits.count == hex.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
