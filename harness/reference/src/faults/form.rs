//! Faults of form: one member of one message that the schema does not allow.
//! What each does stands in `forms`.

use super::{Fault, faults};

faults! { FORMS:
    ToolTitleNull "tool-title-null" T1 [Stdio Http]
        "the title of one tool is null"
        legacy ["tools-list-shape"]
        modern ["tool-title-description-strings"];
    ToolNameAsNumber "tool-name-as-number" T1 [Stdio Http]
        "the name of one tool is a number"
        legacy ["tools-list-shape"]
        modern ["tool-name-string"];
    ToolIconsWithoutSource "tool-icons-without-source" T1 [Stdio Http]
        "the icon of one tool has no src"
        legacy ["icons-array-of-icons"]
        modern ["tool-icons-valid"];
    IconThemeInvented "icon-theme-invented" T1 [Stdio Http]
        "the icon of one tool has the theme blue"
        legacy ["icons-theme-values"]
        modern ["tool-icons-valid"];
    ToolOutputSchemaBoolean "tool-output-schema-boolean" T1 [Stdio Http]
        "the outputSchema of one tool is true"
        legacy ["tools-outputschema-root-object"]
        modern ["tool-output-schema-object"];
    ToolOutputSchemaInvalid "tool-output-schema-invalid" T1 [Stdio Http]
        "the outputSchema of one tool has an unknown type"
        legacy ["schema-default-dialect-2020-12"]
        modern ["tool-output-schema-valid"];
    ToolOutputSchemaOldInvalid "tool-output-schema-old-invalid" T1 [Stdio Http]
        "the outputSchema of one tool is no schema of the dialect that it declares"
        legacy ["schema-valid-for-declared-dialect"]
        modern ["tool-output-schema-valid"];
    ToolMetaAsList "tool-meta-as-list" T1 [Stdio Http]
        "the _meta of one tool is a list"
        legacy ["meta-is-object"]
        modern ["tool-meta-object"];
    ToolDialectAsNumber "tool-dialect-as-number" T1 [Stdio Http]
        "the $schema of one tool is a number"
        legacy ["tools-inputschema-root-object"]
        modern ["tool-schema-dollar-schema-string"];
    ToolParameterNoSchema "tool-parameter-no-schema" T1 [Stdio Http]
        "a parameter of one tool is a number instead of a schema"
        legacy ["tools-inputschema-property-objects"]
        modern ["tool-input-schema-valid"];
    TaskSupportInvented "task-support-invented" T1 [Stdio Http]
        "the taskSupport of one tool is maybe"
        legacy ["tasks-tasksupport-values"];
    ResourceIconsAsObject "resource-icons-as-object" T1 [Stdio Http]
        "the icons of one resource are an object"
        legacy ["icons-array-of-icons"]
        modern ["resource-icons-valid"];
    PromptIconsWithoutSource "prompt-icons-without-source" T1 [Stdio Http]
        "the icon of one prompt has no src"
        legacy ["icons-array-of-icons"]
        modern ["prompt-icons-valid"];
    PromptDescriptionAsList "prompt-description-as-list" T1 [Stdio Http]
        "the description of one prompt is a list"
        legacy ["prompts-list-shape"]
        modern ["prompts-list-result-shape"];
    TemplateWithoutName "template-without-name" T1 [Stdio Http]
        "the template has no name"
        legacy ["resources-templates-shape"]
        modern ["resources-templates-list-shape"];
    PromptDescriptionNull "prompt-description-null" T1 [Stdio Http]
        "the description of a filled prompt is null"
        legacy ["prompts-get-shape"]
        modern ["prompts-get-result-shape"];
    ImageWithoutType "image-without-type" T1 [Stdio Http]
        "an image has no mimeType"
        legacy ["tools-image-audio-base64"]
        modern ["content-image-shape"];
    AudioWithoutData "audio-without-data" T1 [Stdio Http]
        "a sound has no data"
        legacy ["tools-image-audio-base64"]
        modern ["content-audio-shape"];
    AudioNotBase64 "audio-not-base64" T1 [Stdio Http]
        "the data of a sound is an address"
        legacy ["tools-image-audio-base64"]
        modern ["content-audio-base64"];
    PromptImageNotBase64 "prompt-image-not-base64" T1 [Stdio Http]
        "the data of an image in a prompt is a data: URI"
        legacy ["prompts-image-base64-mime"]
        modern ["prompt-image-base64"];
    PromptAudioNotBase64 "prompt-audio-not-base64" T1 [Stdio Http]
        "the data of a sound in a prompt is plain text"
        legacy ["prompts-audio-base64-mime"]
        modern ["prompt-audio-base64"];
    PromptImageTypeBare "prompt-image-type-bare" T1 [Stdio Http]
        "the mimeType of an image in a prompt is png"
        legacy ["prompts-image-base64-mime"]
        modern ["prompt-image-mime-type" "content-mime-type-valid"];
    PromptAudioTypeBare "prompt-audio-type-bare" T1 [Stdio Http]
        "the mimeType of a sound in a prompt is wav"
        legacy ["prompts-audio-base64-mime"]
        modern ["prompt-audio-mime-type" "content-mime-type-valid"];
    LinkWithoutUri "link-without-uri" T1 [Stdio Http]
        "a link has no uri"
        legacy ["tools-resource-link-fields"]
        modern ["content-resource-link-shape"];
    EmbeddedUriAsNumber "embedded-uri-as-number" T1 [Stdio Http]
        "the uri of a resource in a tool's result is a number"
        legacy ["tools-embedded-resource-fields"]
        modern ["content-embedded-resource-shape"];
    AudienceInvented "audience-invented" T1 [Stdio Http]
        "the audience of an image is all"
        legacy ["resources-annotations-valid"]
        modern ["annotations-audience-values"];
    StructuredContentAsList "structured-content-as-list" T1 [Stdio Http]
        "structuredContent is a list"
        legacy ["tools-structured-is-object"]
        modern ["structured-content-matches-output-schema"]
        collateral_legacy ["tools-output-conforms-to-schema" "tools-structured-also-as-text"]
        collateral_modern ["structured-content-text-copy"];
    SamplingPriorityOutOfRange "sampling-priority-out-of-range" T1 [Stdio Http]
        "a priority of a model is 10"
        legacy ["sampling-priorities-range"]
        modern ["sampling-priority-range"];
    SamplingHintAsText "sampling-hint-as-text" T1 [Stdio Http]
        "a hint at a model is a string"
        legacy ["sampling-priorities-range"]
        modern ["sampling-hints-shape"];
    SamplingChoiceInvented "sampling-choice-invented" T1 [Stdio Http]
        "the mode of a tool choice is any"
        legacy ["sampling-toolchoice-mode"]
        modern ["sampling-tool-choice-values"];
    SamplingToolsAsObject "sampling-tools-as-object" T1 [Stdio Http]
        "the tools of a sampling request are an object"
        legacy ["sampling-tools-schemas-valid"]
        modern ["sampling-tool-definitions-valid"];
    SamplingRoleSystem "sampling-role-system" T1 [Stdio Http]
        "a sampling message has the role system"
        legacy ["sampling-request-shape"]
        modern ["sampling-message-shape"];
    SamplingContentLink "sampling-content-link" T1 [Stdio Http]
        "a sampling message holds a link"
        legacy ["sampling-content-types"]
        modern ["sampling-content-types"];
    SamplingContextInvented "sampling-context-invented" T1 [Stdio Http]
        "includeContext is all"
        legacy ["sampling-request-shape"]
        modern ["sampling-include-context-values"];
    ElicitationRootString "elicitation-root-string" T1 [Stdio Http]
        "the requested schema is that of a string"
        legacy ["elicitation-form-requested-schema"]
        modern ["elicitation-schema-root"];
    ElicitationFormatInvented "elicitation-format-invented" T1 [Stdio Http]
        "the format of an asked string is password"
        legacy ["elicitation-form-string-formats"]
        modern ["elicitation-schema-string-format"];
    ElicitationBoundAsText "elicitation-bound-as-text" T1 [Stdio Http]
        "the bound of an asked string is a string"
        legacy ["elicitation-form-flat-primitives"]
        modern ["elicitation-schema-string-bounds"];
    ElicitationDefaultAsText "elicitation-default-as-text" T1 [Stdio Http]
        "the default of an asked number is a string"
        legacy ["elicitation-form-defaults-typed"]
        modern ["elicitation-schema-number"];
    ElicitationFlagDefaultAsText "elicitation-flag-default-as-text" T1 [Stdio Http]
        "the default of an asked boolean is a string"
        legacy ["elicitation-form-defaults-typed"]
        modern ["elicitation-schema-boolean"];
    ElicitationChoiceWithoutEnum "elicitation-choice-without-enum" T1 [Stdio Http]
        "a multiple choice names no choices"
        legacy ["elicitation-form-enum-variants"]
        modern ["elicitation-schema-multi-enum"];
    PageWithoutUrl "page-without-url" T1 [Stdio Http]
        "the user is sent to a page without an address"
        legacy ["elicitation-url-required-fields"]
        modern ["elicitation-url-params"]
        collateral_legacy ["elicitation-required-error-url-mode-ids"];
}
