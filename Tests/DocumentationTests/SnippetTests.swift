import Foundation
import GRDB
import LFS
import LFSS3
import LFSStorage
import LFSTesting
import Testing

@Suite("Examples of the documentation", .timeLimit(.minutes(10)))
struct SnippetTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let pages: [String] = {
        let catalog = "Sources/Core/LFS/LFS.docc"
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(catalog).path)) ?? []
        let products = [
            "Storages/LFSS3", "Server/LFSSigningServer", "Sync/LFSSync", "Server/LFSSyncServer", "Settings/LFSSettings",
            "Settings/LFSPassphrase", "Settings/LFSSecretService", "More/LFSBackup", "More/LFSPhotos",
            "More/LFSBackground", "More/LFSCache",
        ].map { URL(fileURLWithPath: "Sources/\($0)", relativeTo: root) }
        return ["README.md", "CONTRIBUTING.md"]
            + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalog)/\($0)" }
            + products.map { "\($0.relativePath)/\($0.lastPathComponent).docc/\($0.lastPathComponent).md" }
            + ["Settings", "SecretsWithoutADesktop"].map { "Sources/Settings/LFSSettings/LFSSettings.docc/\($0).md" }
            + [
                "Sources/More/LFSCache/LFSCache.docc/Caches.md",
                "Sources/Sync/LFSSync/LFSSync.docc/SyncYourOwnTables.md",
                "Sources/More/LFSBackup/LFSBackup.docc/BackUpFolders.md",
            ]
    }()

    @Test("Every Swift example of the documentation is compiled", arguments: pages)
    func compiled(page: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent(page), encoding: .utf8)
        let compiled = try Self.snippets()
        for block in Self.blocks(in: text) {
            // Within the expectation, a failure would print all snippets.
            let isCompiled = compiled.contains(block)
            #expect(isCompiled, "\(page) shows code that is in no snippet:\n\(block)")
        }
    }

    @Test("Every compiled snippet is shown on a page")
    func shown() throws {
        let blocks = try Self.pages.flatMap {
            Self.blocks(in: try String(contentsOf: Self.root.appendingPathComponent($0), encoding: .utf8))
        }
        #expect(blocks.count >= 10)
        for snippet in try Self.snippets() {
            let isShown = blocks.contains(snippet)
            #expect(isShown, "No page shows:\n\(snippet)")
        }
    }

    @Test("The example of the README runs unchanged")
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

    @Test("Every test that the page of failure scenarios names exists")
    func namedTests() throws {
        let page = try Self.text("Sources/Core/LFS/LFS.docc/WhatHappensIf.md")
        let names = page.matches(of: /`(\w+Tests)`/).map { String($0.1) }
        #expect(names.count >= 20)
        let folders = ["Tests", "Samples/Uploader/Tests"].map { Self.root.appendingPathComponent($0).path }
        let files = try folders.flatMap { try FileManager.default.subpathsOfDirectory(atPath: $0) }
        for name in names {
            let isThere = files.contains { $0.hasSuffix("/\(name).swift") }
            #expect(isThere, "There is no \(name)")
        }
    }

    @Test("The README names all products of the package and no others")
    func products() throws {
        let (readme, manifest) = (try Self.text("README.md"), try Self.text("Package.swift"))
        let table = readme.components(separatedBy: "| for | products |")
        try #require(table.count == 2)
        let named = table[1].components(separatedBy: "\n\n")[0].matches(of: /`(LFS\w*)`/).map { $0.1 }
        let made = manifest.matches(of: /\.library\(name: "(\w+)"/).map { $0.1 }
        #expect(named.sorted() == made.sorted())
        #expect(!made.isEmpty)
    }

    @Test("The table of S3 servers matches the code")
    func servers() throws {
        let page = Self.root.appendingPathComponent("Sources/Storages/LFSS3/LFSS3.docc/LFSS3.md")
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

    @Test("The tutorial of a storage shows the number of conformance checks")
    func checks() throws {
        let page = try Self.text("Sources/Core/LFS/LFS.docc/WriteANewStorage.md")
        #expect(page.contains("with \(StorageConformance.checks.count) test cases passed"))
        let failing = page.matches(of: /In "(.*)": expected that the upload fails\./).map { String($0.1) }
        #expect(failing.count == 2)
        #expect(Set(StorageConformance.checks.map(\.name)).isSuperset(of: failing))
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns the Swift blocks of a page.
    private static func blocks(in text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().map { part in
            part.components(separatedBy: "\n```")[0]
        }
    }

    /// Returns the text between `// snippet` and `// end` in the compiled files, without its indentation.
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
