import Foundation
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Reading a damaged local copy", .timeLimit(.minutes(10)))
struct DamagedCopyTests {
    @Test("A local copy of another length is not taken for the file", arguments: [0, 999, 1_001])
    func wrongLength(count: Int) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(someBytes(count), at: checked.local(file.id))
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
                #expect(await errorCode { _ = try await lfs.bytes(of: file, range: 0..<10) } == .sourceChanged)
                #expect(await errorCode { _ = try await lfs.localURL(of: file) } == .sourceChanged)
            }
        }
    }

    @Test("A folder in the place of a file is not taken for it")
    func folder() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(nil, at: checked.local(file.id))
            try FileManager.default.createDirectory(at: checked.local(file.id), withIntermediateDirectories: false)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
            }
        }
    }

    @Test("A reader is told when the bytes end before the end")
    func shortened() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                let contents = try #require(try await lfs.contents(of: file))
                #expect(chmod(checked.local(file.id).path, 0o600) == 0)
                #expect(truncate(checked.local(file.id).path, 10) == 0)
                let code = await errorCode { for try await _ in contents {} }
                #expect(code == .sourceChanged)
            }
        }
    }
}
