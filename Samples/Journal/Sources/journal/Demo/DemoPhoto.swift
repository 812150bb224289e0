import Foundation

/// A generated photograph: a scene that libvips enlarges to some megapixels, as a JPEG with its date.
struct DemoPhoto: Sendable {
    private let scene: DemoScene
    private let shift: Double
    private let date: Date
    private let timeZone: TimeZone
    let width: Int
    let height: Int

    private static let tool = "/usr/bin/vipsthumbnail"
    /// The sizes, from 1 to 12 megapixels.
    private static let sizes = [
        (2_000, 1_333), (1_224, 816), (3_000, 2_000), (1_600, 1_200), (4_000, 3_000), (2_400, 1_600),
    ]
    /// The pictures of a burst, which show the same scene.
    private static let burst = 10...14
    private static let panorama = 7
    /// The longer side of the drawing in pixels.
    private static let drawnSide = 480

    /// Indicates that libvips is installed.
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: tool) }

    /// - Parameters:
    ///   - number: The number of the picture in the journal, which determines its size and shape.
    ///   - date: The time at which it was taken.
    init(seed: UInt64, number: Int, date: Date, timeZone: TimeZone) {
        let isInBurst = Self.burst.contains(number)
        scene = DemoScene(seed: isInBurst ? UInt64(Self.burst.lowerBound) : seed)
        shift = isInBurst ? Double(number - Self.burst.lowerBound) * 0.006 : 0
        self.date = date
        self.timeZone = timeZone
        let size = number == Self.panorama ? (6_000, 1_500) : Self.sizes[abs(number % Self.sizes.count)]
        let isPortrait = number % 4 == 3 && number != Self.panorama
        width = isPortrait ? size.1 : size.0
        height = isPortrait ? size.0 : size.1
    }

    /// Returns the JPEG file.
    ///
    /// - Throws: ``Failure`` if libvips fails. The system's error for the temporary folder.
    @concurrent func jpeg() async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-photo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let scale = Double(Self.drawnSide) / Double(max(width, height))
        let (columns, rows) = (max(1, Int(Double(width) * scale)), max(1, Int(Double(height) * scale)))
        let head = Data("P6\n\(columns) \(rows)\n255\n".utf8)
        let drawing = folder.appending(path: "drawing.ppm")
        try (head + Data(scene.pixels(width: columns, height: rows, shift: shift))).write(to: drawing)
        let process = Process()
        process.executableURL = URL(filePath: Self.tool)
        process.arguments = [drawing.path, "--size", "\(width)x\(height)!", "-o", "photo.jpg[Q=85]"]
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.run()
        for await _ in ends {}
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
        return Self.dated(try Data(contentsOf: folder.appending(path: "photo.jpg")), date: date, timeZone: timeZone)
    }

    /// Adds the time at which a picture was taken: one Exif tag in a segment after the start of the JPEG file
    /// (CIPA DC-008, sections 4.5.2 and 4.6.8).
    static func dated(_ jpeg: Data, date: Date, timeZone: TimeZone) -> Data {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        let text = String(
            format: "%04ld:%02ld:%02ld %02ld:%02ld:%02ld", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
            parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0)
        // A TIFF file in big-endian order. Each directory has one entry of 12 bytes.
        let pointer: [UInt8] = [0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26]
        let entry: [UInt8] = [0x90, 0x03, 0, 2, 0, 0, 0, 20, 0, 0, 0, 44]
        let end: [UInt8] = [0, 0, 0, 0]
        let tiff =
            Array("MM".utf8) + [0, 42, 0, 0, 0, 8] + [0, 1] + pointer + end + [0, 1] + entry + end + Array(text.utf8)
            + [0]
        let content = Array("Exif".utf8) + [0, 0] + tiff
        let segment: [UInt8] = [0xff, 0xe1, 0, UInt8(content.count + 2)] + content
        return jpeg.prefix(2) + Data(segment) + jpeg.dropFirst(2)
    }

    /// An error for a failure of libvips or zlib.
    struct Failure: Error {
        let status: Int32
    }
}
