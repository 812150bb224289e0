import Foundation
import JournalStorage

/// The pictures that can be restored.
struct TrashView: Sendable {
    struct Item: Sendable {
        let picture: PictureView
        /// The time that is left, in words.
        let left: String

        init(_ deleted: DeletedImage, badges: BadgeMaker, now: Date) {
            picture = PictureView(asset: deleted.image, badges: badges)
            guard let date = deleted.deletedAt else {
                left = "without a date"
                return
            }
            let passed = Int(min(max(now.timeIntervalSince(date), 0), 1e12) / 86_400)
            left = Words.count(max(0, Trash.days - passed), one: "day", more: "days") + " left"
        }
    }

    let items: [Item]
    let days: Int
}
