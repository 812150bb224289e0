import Foundation
import Testing

@Suite("The page of error codes", .timeLimit(.minutes(10)))
struct ErrorPageTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files that declare the codes of the public errors.
    private static let files = [
        "LFSError": "Sources/Core/LFS/Records/LFSError.swift",
        "StorageError": "Sources/Core/LFSStorage/Contract/StorageError.swift",
        "SyncError": "Sources/Sync/LFSSync/Model/SyncError.swift",
        "SettingsError": "Sources/Settings/LFSSettings/Errors/SettingsError+Codes.swift",
        "CacheError": "Sources/More/LFSCache/Keys/CacheError.swift",
        "BackupError": "Sources/More/LFSBackup/Model/BackupError.swift",
    ]

    @Test("The page lists every code of a public error, and no others", arguments: files.keys.sorted())
    func codes(type: String) throws {
        let page = try Self.text("Sources/Core/LFS/LFS.docc/Errors.md")
        let source = try Self.text(try #require(Self.files[type]))
        let parts = page.components(separatedBy: "\n## \(type)\n")
        try #require(parts.count == 2)
        let section = parts[1].components(separatedBy: "\n## ")[0]
        let listed = section.matches(of: /\| `(\w+)` \|/).map { String($0.1) }
        let declared = source.matches(of: /(?:Code|Self)\(rawValue: "(\w+)"\)/).map { String($0.1) }
        #expect(!declared.isEmpty)
        #expect(listed.sorted() == declared.sorted())
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}
