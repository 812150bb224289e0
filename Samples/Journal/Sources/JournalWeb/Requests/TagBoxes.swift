import Foundation

/// The tags in a form for a record. The record's tags may have changed since the page was created.
struct TagBoxes: Sendable {
    /// The tags whose boxes are ticked, in their order.
    private let ticked: [UUID]
    /// The tags whose boxes were ticked on the page. Nil if the form does not contain them.
    private let were: Set<UUID>?
    private let listed: Set<UUID>
    /// An additional tag.
    var new: UUID?

    /// - Parameter listed: The tags that have a box.
    init(_ form: Form, listed: Set<UUID>) {
        ticked = form.all("tag").compactMap(UUID.init(uuidString:)).filter(listed.contains)
        were = form.has("was-start") ? FormBase(form).ids("tag") : nil
        self.listed = listed
    }

    /// Returns the tags of a record after the changes of the form. Boxes that are as on the page count as unchanged.
    func chosen(of tags: [UUID]) -> [UUID] {
        // Tags that are no longer listed have no box and are kept.
        var chosen = tags.filter { !(were ?? listed).contains($0) || ticked.contains($0) }
        let added = ticked.filter { were?.contains($0) != true } + (new.map { [$0] } ?? [])
        for id in added where !chosen.contains(id) { chosen.append(id) }
        return chosen
    }
}
