import Foundation
import GRDB
import LFS
import LFSS3
import LFSStorage
import Testing

@Suite("What the documentation shows", .timeLimit(.minutes(10)))
struct SnippetTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let pages: [String] = {
        let catalog = "Sources/LFS/LFS.docc"
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(catalog).path)) ?? []
        let products = [
            "LFSS3", "LFSSigning", "LFSSync", "LFSSyncServer", "LFSSettings", "LFSPassphrase", "LFSSecretService",
            "LFSBackup", "LFSCache",
        ]
        return ["README.md", "CONTRIBUTING.md"]
            + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalog)/\($0)" }
            + products.map { "Sources/\($0)/\($0).docc/\($0).md" }
            + ["Settings", "SecretsWithoutADesktop"].map { "Sources/LFSSettings/LFSSettings.docc/\($0).md" }
            + [
                "Sources/LFSCache/LFSCache.docc/Caches.md",
                "Sources/LFSSync/LFSSync.docc/SyncYourOwnTables.md",
                "Sources/LFSBackup/LFSBackup.docc/BackUpFolders.md",
            ]
    }()

    @Test("Every Swift example is code that this target compiles", arguments: pages)
    func compiled(page: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent(page), encoding: .utf8)
        let compiled = try Self.snippets()
        for block in Self.blocks(in: text) {
            #expect(compiled.contains(block), "\(page) shows code that is in no snippet:\n\(block)")
        }
    }

    @Test("There are examples, and snippets that nobody shows are none")
    func shown() throws {
        let blocks = try Self.pages.flatMap {
            Self.blocks(in: try String(contentsOf: Self.root.appendingPathComponent($0), encoding: .utf8))
        }
        #expect(blocks.count >= 10)
        for snippet in try Self.snippets() { #expect(blocks.contains(snippet), "No page shows:\n\(snippet)") }
    }

    @Test("The README's example runs as it stands")
    func readme() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("readme-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let picture = folder.appendingPathComponent("picture.jpg")
        try Data(repeating: 7, count: 100_000).write(to: picture)
        try await example(folder: folder, picture: picture)
        let database = try DatabaseQueue(path: folder.appendingPathComponent("recipes.sqlite").path)
        let photo = try #require(try await database.read { try FileData.fetchOne($0) })
        #expect(photo.status == .remote)
        #expect(try Data(contentsOf: try #require(photo.url)).count == 100_000)
    }

    @Test("The README's table names tests that exist")
    func namedTests() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let names = readme.matches(of: /`(\w+Tests)`/).map { String($0.1) }
        #expect(names.count >= 5)
        let folders = ["Tests", "Samples/Tests"].map { Self.root.appendingPathComponent($0).path }
        let files = try folders.flatMap { try FileManager.default.subpathsOfDirectory(atPath: $0) }
        for name in names { #expect(files.contains { $0.hasSuffix("/\(name).swift") }, "There is no \(name)") }
    }

    @Test("The README names the products of the package, and no others")
    func products() throws {
        let (readme, manifest) = (try Self.text("README.md"), try Self.text("Package.swift"))
        let table = readme.components(separatedBy: "| for | products |")
        try #require(table.count == 2)
        let named = table[1].components(separatedBy: "\n\n")[0].matches(of: /`(LFS\w*)`/).map { $0.1 }
        let made = manifest.matches(of: /\.library\(name: "(\w+)"/).map { $0.1 }
        #expect(named.sorted() == made.sorted())
        #expect(!made.isEmpty)
    }

    @Test("The table of S3 servers says what the code does")
    func servers() throws {
        let page = Self.root.appendingPathComponent("Sources/LFSS3/LFSS3.docc/LFSS3.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        let expected = S3Provider.all.map { provider in
            let checksum = provider.checksumHeader == .sha256 ? "`x-amz-checksum-sha256`" : "`Content-MD5`"
            let ofWhole = provider.fullObjectCRC64 ? ", over TLS `x-amz-checksum-crc64nvme`" : ""
            let count = provider.maximumPartCount == 10_000 ? "10,000" : "1,000"
            return "| `\(provider.name)` | \(provider.evidence.rawValue) | \(checksum)\(ofWhole) "
                + "| \(provider.conditionalWrites ? "yes" : "no") "
                + "| \(count) from \(provider.minimumPartSize >> 20) MiB |"
        }
        #expect(rows.map(String.init) == expected)
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The Swift blocks of a page.
    private static func blocks(in text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().map { part in
            part.components(separatedBy: "\n```")[0]
        }
    }

    /// What stands between `// snippet` and `// end` in the compiled files, without its indentation.
    private static func snippets() throws -> [String] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Snippets")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try files.flatMap { file in
            var snippets: [String] = []
            var current: [String]?
            for line in try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8).components(
                separatedBy: "\n")
            {
                switch line.trimmingCharacters(in: .whitespaces) {
                case "// snippet": current = []
                case "// end":
                    snippets.append(withoutIndentation(current ?? []))
                    current = nil
                default: current?.append(line)
                }
            }
            return snippets
        }
    }

    private static func withoutIndentation(_ lines: [String]) -> String {
        let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
        let indent = indents.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
    }
}
