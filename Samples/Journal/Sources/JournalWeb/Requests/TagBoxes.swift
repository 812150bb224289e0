import Foundation

/// What a form says about the tags of a record, which may have others by now than the page has shown.
struct TagBoxes: Sendable {
    /// Those whose boxes are ticked, in their order.
    private let ticked: [UUID]
    /// Those whose boxes the page had ticked; nil for a form that does not tell.
    private let were: Set<UUID>?
    private let listed: Set<UUID>
    /// One that is chosen besides.
    var new: UUID?

    /// - Parameter listed: the tags that have a box.
    init(_ form: Form, listed: Set<UUID>) {
        ticked = form.all("tag").compactMap(UUID.init(uuidString:)).filter(listed.contains)
        were = form.has("was-start") ? FormBase(form).ids("tag") : nil
        self.listed = listed
    }

    /// Those that a record has now, with what the form changes: what it leaves as the page had it was not changed.
    func chosen(of tags: [UUID]) -> [UUID] {
        // Those that are no longer listed have no box, and stay.
        var chosen = tags.filter { !(were ?? listed).contains($0) || ticked.contains($0) }
        let added = ticked.filter { were?.contains($0) != true } + (new.map { [$0] } ?? [])
        for id in added where !chosen.contains(id) { chosen.append(id) }
        return chosen
    }
}
