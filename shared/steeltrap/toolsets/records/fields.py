"""The fields that several tools of `records` share. Each description has the document's Japanese, then English."""

from typing import Annotated

from pydantic import Field

from ...errors import InvalidInput
from ...model import ContentType, Tier
from ..fields import AnyText, MemoryId, Metadata, Tags

Id = Annotated[MemoryId, Field(description="メモリID（UUID） (the memory's id)")]
StoreTier = Annotated[
    Tier, Field(description="メモリ階層 (short_term expires; long_term stays; working is for the current task)")
]
StoreType = Annotated[ContentType, Field(description="コンテンツタイプ (type of the content)")]
StoreTags = Annotated[Tags, Field(description="分類用タグ (labels to find it by)")]
StoreMetadata = Annotated[Metadata, Field(description="追加メタデータ (any JSON object, up to 16 KiB)")]
NewContent = Annotated[AnyText, Field(description="新しいコンテンツ（埋め込みを再生成） (the new text)")]
NewTags = Annotated[Tags, Field(description="新しいタグリスト（既存を置換） (new tags; they replace the old ones)")]
MoreMetadata = Annotated[
    Metadata, Field(description="追加メタデータ（既存にマージ） (merged into the stored metadata; null removes a key)")
]
NewTier = Annotated[Tier, Field(description="新しい階層（昇格/降格用） (the new tier; long_term removes the expiry)")]
OfTier = Annotated[Tier, Field(description="階層でフィルタ (only this tier)")]
OfTags = Annotated[Tags, Field(description="タグでフィルタ（AND条件） (only memories that have all of these tags)")]
OfType = Annotated[ContentType, Field(description="コンテンツタイプでフィルタ (only this type of content)")]


def checked_content(content: str) -> str:
    """The text, if it isn't empty. Raises InvalidInput in the document's words."""
    if not content.strip():
        raise InvalidInput("Content cannot be empty")
    return content
