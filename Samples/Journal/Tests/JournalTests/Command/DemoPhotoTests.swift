import Foundation
import Testing

@testable import journal

@Suite("Photographs of the demo", .timeLimit(.minutes(10)))
struct DemoPhotoTests {
    @Test("The same seed draws the same scene, and another seed another one")
    func seeds() {
        let scenes = [3, 3, 4].map { DemoScene(seed: $0).pixels(width: 48, height: 32) }
        #expect(scenes[0] == scenes[1] && scenes[0] != scenes[2])
        #expect(scenes.allSatisfy { $0.count == 48 * 32 * 3 && Set($0).count > 20 })
    }

    @Test("Photographs are landscapes, portraits and a panorama of 1 to 12 megapixels")
    func sizes() {
        let photos = (0..<60).map { DemoPhoto(seed: UInt64($0), number: $0, date: Date(), timeZone: .gmt) }
        let megapixels = photos.map { Double($0.width * $0.height) / 1e6 }
        #expect((megapixels.min() ?? 0) < 1.1 && (megapixels.max() ?? 0) >= 12)
        #expect(photos.contains { $0.height > $0.width } && photos.contains { $0.width == 4 * $0.height })
    }

    @Test(
        "A photograph is a JPEG with the date at which it was taken",
        .enabled(if: DemoPhoto.isAvailable, "libvips-tools is missing"))
    func dated() async throws {
        let date = Date(timeIntervalSince1970: 1_770_000_000)
        let data = try await DemoPhoto(seed: 1, number: 1, date: date, timeZone: .gmt).jpeg()
        #expect(data.starts(with: [0xff, 0xd8, 0xff, 0xe1]) && data.suffix(2) == Data([0xff, 0xd9]))
        #expect(data.range(of: Data("2026:02:02 02:40:00".utf8)) != nil)
    }
}
