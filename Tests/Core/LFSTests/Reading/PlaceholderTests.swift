import Foundation
import GRDB
import LFS
import TestSupport
import Testing

@Suite("Placeholders of files", .timeLimit(.minutes(10)))
struct PlaceholderTests {
    private static let grey = Data("a grey picture".utf8)
    private static let bytes = Data(someBytes(700_000))

    /// Runs a body with a manager that has a placeholder for pictures, and with an uploaded file.
    private func run(
        contentType: String = "image/png", hasPlaceholder: Bool = true,
        _ body: (TestHost, LFSManager, FileData) async throws -> Void
    ) async throws {
        try await withLFS(
            configure: { options in
                guard hasPlaceholder else { return }
                options.placeholder = { $0.contentType == "image/png" ? Self.grey : nil }
            }
        ) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(Self.bytes), contentType: contentType)
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            try await body(host, lfs, file)
        }
    }

    @Test("A file on this device is shown with its own bytes, also before the commit")
    func here() async throws {
        try await run { _, lfs, file in
            let expected = DisplayData(data: Self.bytes, isPlaceholder: false)
            #expect(try await lfs.displayData(of: file) == expected)
            #expect(try await lfs.displayData(of: file.id) == expected)
            let staged = try await lfs.makeFile(from: .bytes(Self.bytes), contentType: "image/png")
            #expect(try await lfs.displayData(of: staged) == expected)
            try await lfs.discard(staged)
        }
    }

    @Test("A file that is not on this device has a placeholder until it is read")
    func away() async throws {
        try await run { host, lfs, file in
            try await lfs.evict(file.id)
            let placeholder = DisplayData(data: Self.grey, isPlaceholder: true)
            for _ in 0..<2 {
                #expect(try await lfs.displayData(of: file) == placeholder)
                #expect(try await lfs.displayData(of: file.id) == placeholder)
            }
            #expect(try host.filesInStore().isEmpty)
            #expect(try await lfs.data(of: file)?.count == 700_000)
            #expect(try await lfs.displayData(of: file)?.isPlaceholder == false)
        }
    }

    @Test("A file without a placeholder shows nothing", arguments: [true, false])
    func nothing(hasPlaceholder: Bool) async throws {
        try await run(contentType: "text/plain", hasPlaceholder: hasPlaceholder) { _, lfs, file in
            try await lfs.evict(file.id)
            #expect(try await lfs.displayData(of: file) == nil)
            #expect(await errorCode { _ = try await lfs.displayData(of: FileID.unknown) } == .unknownFile)
        }
    }

    @Test("A file that another device has not uploaded yet has a placeholder")
    func otherDevice() async throws {
        try await run { host, lfs, file in
            let id = FileID.unknown
            try await host.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt, contentType)
                        VALUES (?, 'local', 1, ?, 'elsewhere/' || ?, 0, 'image/png')
                        """, arguments: [id, file.sha256, id])
            }
            #expect(try await lfs.displayData(of: id) == DisplayData(data: Self.grey, isPlaceholder: true))
            #expect(try await lfs.data(of: id) == nil)
            try await host.database.write { try $0.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id]) }
        }
    }

    @Test("A local copy of the wrong size is an error and not shown")
    func damaged() async throws {
        try await run { host, lfs, file in
            let url = try #require(try await lfs.localURL(of: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            try Data("short".utf8).write(to: url)
            #expect(await errorCode { _ = try await lfs.displayData(of: file) } == .sourceChanged)
            _ = host
        }
    }
}
