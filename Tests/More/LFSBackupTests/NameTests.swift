import Foundation
import LFS
import LFSBackup
import Testing

@Suite("Names of originals", .timeLimit(.minutes(10)))
struct NameTests {
    @Test("Names with equal Swift strings or invalid UTF-8 are separate originals")
    func names() async throws {
        try await withPhotoApp { app in
            // The composed and the decomposed form are equal as Swift strings.
            try app.write("\u{E9}", bytes: [1])
            try app.write("e\u{301}", bytes: [2])
            let odd = Array(app.pictures.path.utf8) + [0x2F, 0xFF, 0x0A]
            let path = odd.map { CChar(bitPattern: $0) } + [0]
            let file = try #require(path.withUnsafeBufferPointer { fopen($0.baseAddress!, "w") })
            fputs("three", file)
            fclose(file)
            let attached = Heard<AssetName>()
            let host = BackupHost { attachment, _ in attached.add(attachment.asset.id) }
            let source = FolderSource([BackupGroup(app.pictures.path, mode: .include)])
            let backup = Backup(app.lfs, database: app.database, source: source, host: host)
            #expect(try await backup.run().attached == 3)
            #expect(Set(attached.values).count == 3)
            #expect(attached.values.contains(AssetName(bytes: odd)))
            #expect(AssetName(bytes: odd).description.hasSuffix("/\u{FFFD}\\n"))
            #expect(try await backup.run().unchanged == 3)
        }
    }
}
