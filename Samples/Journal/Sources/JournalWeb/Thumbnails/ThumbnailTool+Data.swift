import Foundation
import JournalStorage

extension ThumbnailTool {
    /// The maximum size of a thumbnail or preview in bytes, which limits the output of the tool.
    static let maxByteCount = 16 << 20

    /// Returns the bytes of a thumbnail, which is created in a temporary folder.
    ///
    /// - Parameters:
    ///   - source: The original picture.
    ///   - edge: The longer edge of the thumbnail in pixels.
    ///   - parent: The folder in which the temporary folder is created.
    /// - Throws: ``ThumbnailError``. The system's error for the folder. `CancellationError`.
    func data(
        of source: URL, edge: Int, in parent: URL = FileManager.default.temporaryDirectory
    ) async throws -> Data {
        try await inFolder(parent) { folder in
            try await make(of: source, as: "small.jpg", edge: edge, in: folder)
            // A program may succeed without output.
            let data = try? Data(contentsOf: folder.appending(path: "small.jpg"))
            guard let data, !data.isEmpty else { throw ThumbnailError.unreadable }
            return data
        }
    }

    /// Returns the shape and the average color of a thumbnail.
    ///
    /// - Throws: The errors of ``data(of:edge:in:)``.
    func look(
        of thumbnail: Data, in parent: URL = FileManager.default.temporaryDirectory
    ) async throws -> PictureLook {
        try await inFolder(parent) { folder in
            let source = folder.appending(path: "small.jpg")
            try thumbnail.write(to: source)
            try await makePixel(of: source, as: "pixel.ppm", in: folder)
            let pixel = try? Data(contentsOf: folder.appending(path: "pixel.ppm"))
            guard let size = Self.size(ofJPEG: thumbnail), let color = pixel.flatMap({ Self.color(ofPixel: $0) }),
                let look = PictureLook(width: size.width, height: size.height, color: color)
            else { throw ThumbnailError.unreadable }
            return look
        }
    }

    private func inFolder<Value>(_ parent: URL, _ body: (URL) async throws -> Value) async throws -> Value {
        let folder = parent.appending(path: "journal-picture-\(UUID().uuidString)", directoryHint: .isDirectory)
        // The call fails if the folder exists, so that another user cannot have created it.
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let result = await Result { try await body(folder) }
        try FileManager.default.removeItem(at: folder)
        return try result.get()
    }

    /// Returns the color of a PPM or PGM file with one pixel (https://netpbm.sourceforge.net/doc/ppm.html).
    static func color(ofPixel data: Data) -> String? {
        let bytes: [UInt8]
        if data.starts(with: Data("P6".utf8)), data.count > 3 {
            bytes = Array(data.suffix(3))
        } else if data.starts(with: Data("P5".utf8)), let gray = data.last {
            bytes = [gray, gray, gray]
        } else {
            return nil
        }
        return "#" + bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// Returns the size in the frame header of a JPEG file (ITU T.81, B.2.2).
    static func size(ofJPEG data: Data) -> (width: Int, height: Int)? {
        let bytes = Array(data)
        var place = 2
        while place + 9 <= bytes.count, bytes[place] == 0xff {
            let (marker, length) = (bytes[place + 1], Int(bytes[place + 2]) << 8 | Int(bytes[place + 3]))
            // The other markers between these values are tables.
            if (0xc0...0xcf).contains(marker), ![0xc4, 0xc8, 0xcc].contains(marker) {
                let height = Int(bytes[place + 5]) << 8 | Int(bytes[place + 6])
                return (width: Int(bytes[place + 7]) << 8 | Int(bytes[place + 8]), height: height)
            }
            guard length >= 2 else { return nil }
            place += 2 + length
        }
        return nil
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
