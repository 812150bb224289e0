import Foundation
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Reading damaged local copies", .timeLimit(.minutes(10)))
struct DamagedCopyTests {
    @Test("A local copy of another length is refused", arguments: [0, 999, 1_001])
    func wrongLength(count: Int) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(someBytes(count), at: checked.local(file.id))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
                #expect(await errorCode { _ = try await lfs.bytes(of: file, range: 0..<10) } == .sourceChanged)
                #expect(await errorCode { _ = try await lfs.localURL(of: file) } == .sourceChanged)
            }
        }
    }

    @Test("A folder in place of a local copy is refused")
    func folder() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(nil, at: checked.local(file.id))
            try FileManager.default.createDirectory(at: checked.local(file.id), withIntermediateDirectories: false)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
            }
        }
    }

    @Test("A reader gets an error when a local copy is truncated while it is read")
    func shortened() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let contents = try #require(try await lfs.contents(of: file))
                #expect(chmod(checked.local(file.id).path, 0o600) == 0)
                #expect(truncate(checked.local(file.id).path, 10) == 0)
                let code = await errorCode { for try await _ in contents {} }
                #expect(code == .sourceChanged)
            }
        }
    }
}
