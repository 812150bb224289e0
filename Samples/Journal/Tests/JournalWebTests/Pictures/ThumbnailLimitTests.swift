import Foundation
import JournalStorage
import LFS
import LFSCache
import Testing

@testable import JournalWeb

@Suite(
    "Limits of thumbnails", .timeLimit(.minutes(10)),
    .enabled(if: ThumbnailTool() != nil, "libvips-tools is missing"))
struct ThumbnailLimitTests {
    /// A program that uses one resource without a limit, in place of the one that makes thumbnails.
    enum Glutton: String, CaseIterable {
        case waits = "exec sleep 600"
        case computes = "while :; do :; done"
        case takesMemory = "head -c 1300000000 /dev/zero | tail -c 1300000000 >/dev/null"
        case writes = "exec head -c 20000000 /dev/zero >big"
        /// Succeeds without writing a picture.
        case makesNothing = "exit 0"

        var seconds: Int {
            switch self {
            case .waits: 1
            case .computes: 2
            // Long enough that the time limit does not end these programs first.
            case .takesMemory, .writes, .makesNothing: 60
            }
        }
    }

    @Test("A program that exceeds its time, memory or disk limit is ended", arguments: Glutton.allCases)
    func limits(_ glutton: Glutton) async throws {
        try await withFolder { folder in
            for (name, script) in [("vipsheader", "echo '10x10 uchar, 3 bands'"), ("vipsthumbnail", glutton.rawValue)] {
                let file = folder.appending(path: name)
                try Data("#!/bin/sh\n\(script)\n".utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
            }
            let tool = try #require(ThumbnailTool(in: folder.path, seconds: glutton.seconds))
            let source = folder.appending(path: "vipsheader")
            if glutton == .makesNothing {
                await #expect(throws: ThumbnailError.unreadable) {
                    try await tool.data(of: source, edge: 320, in: folder)
                }
                // The temporary folder is removed too.
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(names.sorted() == ["vipsheader", "vipsthumbnail"])
            } else {
                await #expect(throws: ThumbnailError.unreadable) {
                    try await tool.make(of: source, as: "small.jpg", edge: 320, in: folder)
                }
            }
            let size = try? folder.appending(path: "big").resourceValues(forKeys: [.fileSizeKey]).fileSize
            #expect(size ?? 0 <= 16 << 20)
        }
    }

    @Test(
        "A picture with too many pixels is not decoded",
        arguments: [(60_000, 60_000), (999_999, 101), (10_001, 10_000)])
    func pixels(width: UInt32, height: UInt32) async throws {
        try await withFolder { folder in
            let picture = folder.appending(path: "bomb.png")
            try Self.png(width, height: height).write(to: picture)
            let tool = try #require(ThumbnailTool())
            await #expect(throws: ThumbnailError.tooLarge) {
                try await tool.make(of: picture, as: "small.jpg", edge: 320, in: folder)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["bomb.png"])
        }
    }

    @Test("A picture without a thumbnail has a placeholder, and the journal keeps working")
    func shown() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(Self.png(60_000, height: 60_000), to: record).status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let file = try await web.journal.imageFile(filename: name, for: record)
            for _ in 0..<2 {
                let reply = try await web.get("/files/\(file.id)/thumbnail")
                #expect(reply.header("Content-Type") == "image/svg+xml")
            }
            // The program ran only once.
            let usage = await web.cache?.usage()
            #expect(usage?.loads == 1 && usage?.kinds.isEmpty == true)
            #expect(try await web.get("/files/\(file.id)").body.count == 57)
        }
    }

    /// Returns a PNG with a size but without pixels: header, an empty `IDAT` and the end.
    private static func png(_ width: UInt32, height: UInt32) -> Data {
        let sides = [width, height].flatMap { side in withUnsafeBytes(of: side.bigEndian) { Array($0) } }
        return Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) + chunk("IHDR", bytes: sides + [1, 0, 0, 0, 0])
            + chunk("IDAT", bytes: []) + chunk("IEND", bytes: [])
    }

    private static func chunk(_ type: String, bytes: [UInt8]) -> Data {
        let checked = Array(type.utf8) + bytes
        let crc = ~checked.reduce(UInt32.max) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
        }
        let words = [UInt32(bytes.count), crc].map { word in withUnsafeBytes(of: word.bigEndian) { Data($0) } }
        return words[0] + Data(checked) + words[1]
    }
}
